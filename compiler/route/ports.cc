#include "compiler/route/ports.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace reshard {
namespace {

Outlet MakeOutlet(const Topology& topology, const std::vector<NicId>& nics, PortId own_port,
                  int64_t own_bytes_per_s) {
  Outlet outlet;
  for (const NicId nic : nics) {
    const int64_t rate = topology.nics[nic].bytes_per_s;
    outlet.shares.push_back({nic, rate});
    outlet.total_weight += rate;
  }
  outlet.bytes_per_s = outlet.total_weight;
  if (own_port != kNone) {
    outlet.shares.push_back({own_port, outlet.total_weight});
    outlet.bytes_per_s = std::min(outlet.bytes_per_s, own_bytes_per_s);
  }
  return outlet;
}

}  // namespace

Ports::Ports(const Topology& topology) {
  for (const Nic& nic : topology.nics) bytes_per_s_.push_back(nic.bytes_per_s);
  std::map<std::pair<std::vector<NicId>, PortId>, OutletId> ids;
  if (!topology.sites.empty()) site_of_rank_.assign(topology.sites.back().rank + size_t{1}, kNone);
  for (SiteId site = 0; site < topology.sites.size(); ++site) {
    const RankSite& facts = topology.sites[site];
    site_of_rank_[facts.rank] = site;
    domain_of_site_.push_back(facts.domain);
    group_of_site_.push_back(facts.group);
    if (facts.nics.empty()) {
      outlet_of_site_.push_back(kNone);
      continue;
    }
    PortId own_port = kNone;
    if (facts.host_bytes_per_s > 0) {
      own_port = static_cast<PortId>(bytes_per_s_.size());
      bytes_per_s_.push_back(facts.host_bytes_per_s);
    }
    const auto [entry, is_new] = ids.try_emplace({facts.nics, own_port}, outlets_.size());
    if (is_new) {
      outlets_.push_back(MakeOutlet(topology, facts.nics, own_port, facts.host_bytes_per_s));
      group_of_outlet_.push_back(facts.group);
    }
    outlet_of_site_.push_back(entry->second);
  }
  FindUplinks(topology);
}

void Ports::FindUplinks(const Topology& topology) {
  std::vector<std::set<NicId>> nics(topology.groups.size());
  for (const RankSite& site : topology.sites) {
    if (site.group != kNone) nics[site.group].insert(site.nics.begin(), site.nics.end());
  }
  for (GroupId group = 0; group < nics.size(); ++group) {
    int64_t rate = 0;
    for (const NicId nic : nics[group]) rate += topology.nics[nic].bytes_per_s;
    const int64_t uplink = topology.groups[group].uplink_bytes_per_s;
    if (uplink == 0 || uplink >= rate) {
      uplinks_.push_back({kNone, kNone});
      continue;
    }
    const auto out = static_cast<PortId>(bytes_per_s_.size());
    uplinks_.push_back({out, out + 1});
    bytes_per_s_.insert(bytes_per_s_.end(), 2, uplink);
    uplinks_limit_ = true;
  }
}

int64_t ShareBytes(const Outlet& outlet, size_t index, int64_t bytes) {
  __extension__ typedef __int128 Wide;
  const Outlet::Share& share = outlet.shares[index];
  if (share.weight == outlet.total_weight) return bytes;
  // Cut at rising prefixes of the weights, so that the parts add up whatever the rounding.
  Wide before = 0;
  for (size_t i = 0; i < index; ++i) before += outlet.shares[i].weight;
  const Wide begin = before * bytes / outlet.total_weight;
  return static_cast<int64_t>((before + share.weight) * bytes / outlet.total_weight - begin);
}

void PortBytes::Add(OutletId outlet, int64_t bytes) {
  const Outlet& facts = ports_->outlet(outlet);
  for (size_t i = 0; i < facts.shares.size(); ++i) {
    bytes_[facts.shares[i].port] += ShareBytes(facts, i, bytes);
  }
}

void PortBytes::AddUplinks(GroupId from, GroupId to, int64_t bytes) {
  if (from == to) return;
  const PortId out = ports_->uplink_out(from), in = ports_->uplink_in(to);
  if (out != kNone) bytes_[out] += bytes;
  if (in != kNone) bytes_[in] += bytes;
}

int64_t PortBytes::Level(OutletId outlet, int64_t more) const {
  const Outlet& facts = ports_->outlet(outlet);
  int64_t level = 0;
  for (size_t i = 0; i < facts.shares.size(); ++i) {
    const PortId port = facts.shares[i].port;
    const int64_t bytes = bytes_[port] + ShareBytes(facts, i, more);
    level = std::max(level, PicosecondsFor(bytes, ports_->bytes_per_s(port)));
  }
  return level;
}

int64_t PortBytes::MaxLevel() const {
  int64_t level = 0;
  for (PortId port = 0; port < bytes_.size(); ++port) {
    level = std::max(level, PortLevel(port));
  }
  return level;
}

}  // namespace reshard
