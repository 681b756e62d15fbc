#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/route/busiest_sets.h"
#include "compiler/route/find_cuts.h"

namespace reshard {
namespace {

constexpr size_t kBusySets = 4;

// Groups that are looked at as one, because domains reach from one into the other.
struct Pool {
  std::vector<GroupId> groups;  // rising
  int64_t uplink_bytes_per_s = 0;
  bool closed = true;  // no domain reaches out, and all uplinks have a limit
};

class FabricCutFinder {
 public:
  FabricCutFinder(const CutInputs& in, std::vector<CutWitness>* out)
      : in_(in), facts_(*in.facts), out_(*out) {}

  void Run() {
    MakePools();
    for (const TransferClass& cls : in_.transfers->classes) {
      bytes_of_sets_[{cls.holders, cls.needers}] += cls.bytes;
    }
    if (std::any_of(pools_.begin(), pools_.end(), [](const Pool& p) { return p.closed; })) {
      AddIngress();
      AddEgress();
    }
    AddCopies();
  }

 private:
  using PoolList = std::vector<uint32_t>;  // rising; pools_.size() stands for all that is outside

  void MakePools();
  const PoolList& PoolsOf(RankSetId set);
  void AddIngress();
  void AddEgress();
  void AddEgressFrom(const PoolList& pools);
  void AddCopies();
  uint32_t outside() const { return static_cast<uint32_t>(pools_.size()); }

  const CutInputs& in_;
  RankSetFactsTable& facts_;
  std::vector<CutWitness>& out_;
  std::vector<Pool> pools_;
  std::vector<uint32_t> pool_of_domain_;
  std::map<std::pair<RankSetId, RankSetId>, int64_t> bytes_of_sets_;
  std::map<RankSetId, PoolList> pools_of_set_;
};

void FabricCutFinder::MakePools() {
  const Topology& topology = *in_.topology;
  const auto none = static_cast<GroupId>(topology.groups.size());  // of hosts outside all groups
  std::vector<GroupId> first(topology.groups.size() + 1);
  std::iota(first.begin(), first.end(), GroupId{0});
  const auto find = [&](GroupId group) {
    while (first[group] != group) group = first[group];
    return group;
  };
  std::vector<GroupId> group_of_domain(topology.domains.size(), none);
  std::vector<bool> seen(topology.domains.size(), false);
  for (const RankSite& site : topology.sites) {
    const GroupId group = site.group == kNone ? none : site.group;
    if (!seen[site.domain]) group_of_domain[site.domain] = group;
    seen[site.domain] = true;
    // The larger root wins, so that the pool with hosts outside is the one of `none`.
    const GroupId a = find(group), b = find(group_of_domain[site.domain]);
    first[std::min(a, b)] = std::max(a, b);
  }
  std::map<GroupId, uint32_t> pool_of_root;
  for (GroupId group = 0; group < none; ++group) {
    const auto [entry, is_new] =
        pool_of_root.try_emplace(find(group), static_cast<uint32_t>(pools_.size()));
    if (is_new) pools_.emplace_back();
    Pool& pool = pools_[entry->second];
    pool.groups.push_back(group);
    pool.uplink_bytes_per_s += topology.groups[group].uplink_bytes_per_s;
    if (topology.groups[group].uplink_bytes_per_s == 0 || find(group) == none) pool.closed = false;
  }
  for (const GroupId group : group_of_domain) {
    const auto pool = pool_of_root.find(find(group));
    const bool inside = pool != pool_of_root.end() && pools_[pool->second].closed;
    pool_of_domain_.push_back(inside ? pool->second : outside());
  }
}

const FabricCutFinder::PoolList& FabricCutFinder::PoolsOf(RankSetId set) {
  const auto [entry, is_new] = pools_of_set_.try_emplace(set);
  if (!is_new) return entry->second;
  PoolList& pools = entry->second;
  for (const DomainId domain : facts_[set].by_domain.domains)
    pools.push_back(pool_of_domain_[domain]);
  std::sort(pools.begin(), pools.end());
  pools.erase(std::unique(pools.begin(), pools.end()), pools.end());
  return pools;
}

void FabricCutFinder::AddIngress() {
  std::vector<int64_t> ingress(pools_.size() + 1, 0);
  for (const auto& [sets, bytes] : bytes_of_sets_) {
    const PoolList& holders = PoolsOf(sets.first);
    for (const uint32_t pool : PoolsOf(sets.second)) {
      if (!std::binary_search(holders.begin(), holders.end(), pool)) ingress[pool] += bytes;
    }
  }
  for (uint32_t pool = 0; pool < pools_.size(); ++pool) {
    if (!pools_[pool].closed || ingress[pool] == 0) continue;
    out_.push_back({PlanCutKind::kGroupIngress, pools_[pool].groups, ingress[pool],
                    pools_[pool].uplink_bytes_per_s});
  }
}

void FabricCutFinder::AddEgressFrom(const PoolList& pools) {
  int64_t bytes = 0, rate = 0;
  for (const auto& [sets, of_sets] : bytes_of_sets_) {
    const PoolList& holders = PoolsOf(sets.first);
    const PoolList& needers = PoolsOf(sets.second);
    const bool held_inside =
        std::includes(pools.begin(), pools.end(), holders.begin(), holders.end());
    const bool needed_inside =
        std::includes(pools.begin(), pools.end(), needers.begin(), needers.end());
    if (held_inside && !needed_inside) bytes += of_sets;
  }
  std::vector<GroupId> groups;
  for (const uint32_t pool : pools) {
    groups.insert(groups.end(), pools_[pool].groups.begin(), pools_[pool].groups.end());
    rate += pools_[pool].uplink_bytes_per_s;
  }
  std::sort(groups.begin(), groups.end());
  if (bytes > 0) out_.push_back({PlanCutKind::kGroupEgress, std::move(groups), bytes, rate});
}

void FabricCutFinder::AddEgress() {
  std::map<PoolList, int64_t> by_holders;
  for (const auto& [sets, bytes] : bytes_of_sets_) {
    const PoolList& holders = PoolsOf(sets.first);
    const PoolList& needers = PoolsOf(sets.second);
    const bool stays =
        std::includes(holders.begin(), holders.end(), needers.begin(), needers.end());
    if (!stays && holders.back() != outside()) by_holders[holders] += bytes;
  }
  std::vector<UnitDemand> demands;
  for (const auto& [holders, bytes] : by_holders) {
    demands.push_back({holders, bytes});
    if (holders.size() > 1) continue;
    const Pool& pool = pools_[holders[0]];
    out_.push_back({PlanCutKind::kGroupEgress, pool.groups, bytes, pool.uplink_bytes_per_s});
  }
  std::vector<int64_t> rates;
  for (const Pool& pool : pools_) rates.push_back(pool.closed ? pool.uplink_bytes_per_s : 0);
  for (const PoolList& pools : BusiestSets(demands, rates, kBusySets)) AddEgressFrom(pools);
}

// NICs send as fast as they receive, so copies are a limit of their own only for a shared fabric.
void FabricCutFinder::AddCopies() {
  const int64_t fabric = in_.topology->fabric_bytes_per_s;
  if (fabric == 0) return;
  int64_t bytes = 0;
  std::vector<bool> used(in_.topology->domains.size(), false);
  for (const auto& [sets, of_sets] : bytes_of_sets_) {
    const std::vector<DomainId>& holders = facts_[sets.first].by_domain.domains;
    const std::vector<DomainId>& needers = facts_[sets.second].by_domain.domains;
    for (const DomainId domain : holders) used[domain] = true;
    for (const DomainId domain : needers) {
      used[domain] = true;
      if (!std::binary_search(holders.begin(), holders.end(), domain)) bytes += of_sets;
    }
  }
  RankList ranks;
  for (const RankSite& site : in_.topology->sites) {
    if (used[site.domain]) ranks.push_back(site.rank);
  }
  if (bytes > 0 && fabric < NicRateOf(*in_.topology, ranks)) {
    out_.push_back({PlanCutKind::kCopies, {}, bytes, fabric});
  }
}

}  // namespace

void FindFabricCuts(const CutInputs& inputs, std::vector<CutWitness>* out) {
  FabricCutFinder(inputs, out).Run();
}

}  // namespace reshard
