// Ports: what limits the network traffic of ranks: NICs, the PCIe limit of a rank where there is
// one, and the uplinks of groups that carry less than their NICs. Ranks with the same NICs and
// limits share an outlet. Each direction of a port is loaded on its own; the two of uplinks are two
// ports, as a message passes the one of its sender's group and the other one of its receiver's.
#ifndef RESHARD_COMPILER_ROUTE_PORTS_H_
#define RESHARD_COMPILER_ROUTE_PORTS_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "runtime/base/rank_set.h"

namespace reshard {

using PortId = uint32_t;  // [0, NIC count): NICs; above: limits of single ranks, and uplinks
using OutletId = uint32_t;
using SiteId = uint32_t;  // position in Topology::sites

struct Outlet {
  struct Share {
    PortId port = 0;
    int64_t weight = 0;  // of the outlet's total_weight; a rank's own limit carries all of it
  };
  std::vector<Share> shares;
  int64_t total_weight = 0;
  int64_t bytes_per_s = 0;  // what the shares allow together
};

class Ports {
 public:
  explicit Ports(const Topology& topology);

  size_t port_count() const { return bytes_per_s_.size(); }
  int64_t bytes_per_s(PortId port) const { return bytes_per_s_[port]; }
  size_t outlet_count() const { return outlets_.size(); }
  const Outlet& outlet(OutletId id) const { return outlets_[id]; }

  // The uplinks that traffic out of a group and into it passes; kNone when its NICs together cannot
  // fill them.
  PortId uplink_out(GroupId group) const { return group == kNone ? kNone : uplinks_[group].out; }
  PortId uplink_in(GroupId group) const { return group == kNone ? kNone : uplinks_[group].in; }
  bool uplinks_limit() const { return uplinks_limit_; }  // those of some group
  size_t group_count() const { return uplinks_.size(); }
  GroupId group_of_outlet(OutletId id) const { return group_of_outlet_[id]; }

  SiteId site(Rank rank) const {  // kNone when the rank has no place
    return rank < site_of_rank_.size() ? site_of_rank_[rank] : kNone;
  }
  // Ranks that have a place.
  bool SameDomain(Rank a, Rank b) const {
    return domain_of_site_[site(a)] == domain_of_site_[site(b)];
  }
  // kNone when the rank has no NIC.
  OutletId outlet_of_site(SiteId site) const { return outlet_of_site_[site]; }
  OutletId outlet_of_rank(Rank rank) const {
    const SiteId at = site(rank);
    return at == kNone ? kNone : outlet_of_site_[at];
  }
  // Of a rank that has a place.
  GroupId group_of_rank(Rank rank) const { return group_of_site_[site(rank)]; }

 private:
  void FindUplinks(const Topology& topology);

  std::vector<int64_t> bytes_per_s_;
  std::vector<Outlet> outlets_;
  std::vector<SiteId> site_of_rank_;
  std::vector<OutletId> outlet_of_site_;
  std::vector<DomainId> domain_of_site_;
  std::vector<GroupId> group_of_site_;
  std::vector<GroupId> group_of_outlet_;  // of all ranks behind its NICs, as these are one host's
  struct Uplinks {
    PortId out = 0;
    PortId in = 0;
  };
  std::vector<Uplinks> uplinks_;  // per group
  bool uplinks_limit_ = false;
};

// Time that `bytes` take at `bytes_per_s`, in picoseconds rounded down.
inline int64_t PicosecondsFor(int64_t bytes, int64_t bytes_per_s) {
  __extension__ typedef __int128 Wide;
  return static_cast<int64_t>(Wide{bytes} * 1'000'000'000'000 / bytes_per_s);
}
// bytes * part / whole, rounded down.
inline int64_t Portion(int64_t bytes, int64_t part, int64_t whole) {
  __extension__ typedef __int128 Wide;
  return static_cast<int64_t>(Wide{bytes} * part / whole);
}
// Bytes that pass in `picoseconds`, rounded down.
inline int64_t BytesIn(int64_t picoseconds, int64_t bytes_per_s) {
  __extension__ typedef __int128 Wide;
  return static_cast<int64_t>(Wide{picoseconds} * bytes_per_s / 1'000'000'000'000);
}

// The part of `bytes` that share `index` of an outlet carries. Parts of NICs add up to `bytes`.
int64_t ShareBytes(const Outlet& outlet, size_t index, int64_t bytes);

// Bytes through every port, one direction.
class PortBytes {
 public:
  explicit PortBytes(const Ports& ports) : ports_(&ports), bytes_(ports.port_count(), 0) {}

  // `bytes` may be negative: takes back what was added.
  void Add(OutletId outlet, int64_t bytes);
  void AddPort(PortId port, int64_t bytes) { bytes_[port] += bytes; }
  // The uplinks that bytes from one group for another pass; none where it is the same.
  void AddUplinks(GroupId from, GroupId to, int64_t bytes);
  int64_t bytes(PortId port) const { return bytes_[port]; }
  // Busy time of the outlet's busiest port, and that of it after `more` bytes.
  int64_t Level(OutletId outlet, int64_t more = 0) const;
  int64_t PortLevel(PortId port, int64_t more = 0) const {
    return PicosecondsFor(bytes_[port] + more, ports_->bytes_per_s(port));
  }
  int64_t MaxLevel() const;

 private:
  const Ports* ports_;
  std::vector<int64_t> bytes_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_PORTS_H_
