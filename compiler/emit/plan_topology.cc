#include "compiler/emit/plan_topology.h"

#include <utility>

#include "runtime/base/check.h"

namespace reshard {
namespace {

// Ids of a table of which a plan keeps only what it uses, renumbered in their old order.
class UsedIds {
 public:
  explicit UsedIds(size_t count) : new_ids_(count, kNoId) {}

  void Use(uint32_t id) { new_ids_[id] = 0; }
  // After the last Use. Calls `keep(id)` for each used id, rising.
  template <class Keep>
  void Number(const Keep& keep) {
    uint32_t next = 0;
    for (uint32_t id = 0; id < new_ids_.size(); ++id) {
      if (new_ids_[id] == kNoId) continue;
      new_ids_[id] = next++;
      keep(id);
    }
  }
  uint32_t operator[](uint32_t id) const { return new_ids_[id]; }
  std::vector<uint32_t> Take() { return std::move(new_ids_); }

 private:
  std::vector<uint32_t> new_ids_;
};

PlanSite MakeSite(const Topology& topology, const RankSite& from, const UsedIds& domains,
                  const UsedIds& groups, const UsedIds& nics) {
  PlanSite to;
  to.rank = from.rank;
  to.node = topology.nodes[from.node].name;
  to.gpu = from.gpu;
  to.domain = domains[from.domain];
  to.group = from.group == kNone ? kNoId : groups[from.group];
  for (const NicId nic : from.nics) to.nics.push_back(nics[nic]);
  to.host_bytes_per_s = from.host_bytes_per_s;
  to.copy_bytes_per_s = from.copy_bytes_per_s;
  to.memory_bytes = from.memory_bytes;
  return to;
}

}  // namespace

TopologyNumbers FillTopology(const Topology& topology, Plan* plan) {
  UsedIds domains(topology.domains.size());
  UsedIds nics(topology.nics.size());
  UsedIds groups(topology.groups.size());
  auto site = topology.sites.begin();
  for (const PlanRank& rank : plan->ranks) {
    while (site != topology.sites.end() && site->rank < rank.rank) ++site;
    RESHARD_CHECK(site != topology.sites.end() && site->rank == rank.rank,
                  "every rank of the plan has a place");
    domains.Use(site->domain);
  }
  domains.Number([&](DomainId id) {
    const Domain& domain = topology.domains[id];
    plan->domains.push_back({domain.name, domain.bytes_per_s, domain.latency_ns});
  });
  for (const RankSite& from : topology.sites) {
    if (domains[from.domain] == kNoId) continue;
    for (const NicId nic : from.nics) nics.Use(nic);
    if (from.group != kNone) groups.Use(from.group);
  }
  nics.Number([&](NicId id) {
    const Nic& nic = topology.nics[id];
    plan->nics.push_back({nic.name, nic.bytes_per_s, nic.rail});
  });
  groups.Number([&](GroupId id) {
    plan->groups.push_back({topology.groups[id].name, topology.groups[id].uplink_bytes_per_s});
  });
  for (const RankSite& from : topology.sites) {
    if (domains[from.domain] == kNoId) continue;
    plan->sites.push_back(MakeSite(topology, from, domains, groups, nics));
  }
  plan->fabric = {topology.rails, topology.fabric_bytes_per_s, topology.latency_ns,
                  topology.cross_rail_latency_ns, topology.cross_group_latency_ns};
  return {domains.Take(), groups.Take()};
}

}  // namespace reshard
