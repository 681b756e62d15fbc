#include "compiler/emit/shared_ports.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/wide_int.h"
#include "runtime/plan/program.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {
namespace {

struct Load {
  Wide out = 0;
  Wide in = 0;
};

class SharedPorts {
 public:
  explicit SharedPorts(const Plan& plan)
      : plan_(plan),
        scaleup_(plan.sites.size()),
        memory_(plan.sites.size(), 0),
        uplinks_(plan.groups.size()) {}

  int64_t BusiestNs() {
    for (const PlanInject& inject : plan_.injects) {
      const PlanTree& tree = plan_.trees[inject.tree];
      const uint32_t source = SiteOf(inject.source);
      memory_[source] += inject.extent;  // packed
      AddMessage(source, SiteOf(plan_.tree_members[tree.first_member]), inject.extent);
    }
    for (const PlanTree& tree : plan_.trees) {
      AddForwards(tree);
      AddCopies(tree);
    }
    Wide busiest = 0;
    for (size_t s = 0; s < scaleup_.size(); ++s) {
      busiest = std::max(
          busiest, Nanoseconds(scaleup_[s], plan_.domains[plan_.sites[s].domain].bytes_per_s));
      busiest = std::max(busiest, Nanoseconds({memory_[s], 0}, plan_.sites[s].copy_bytes_per_s));
    }
    for (size_t g = 0; g < uplinks_.size(); ++g) {
      busiest = std::max(busiest, Nanoseconds(uplinks_[g], plan_.groups[g].uplink_bytes_per_s));
    }
    return static_cast<int64_t>(
        std::max(busiest, Nanoseconds({fabric_, 0}, plan_.fabric.bytes_per_s)));
  }

 private:
  // Rounded up; 0 where nothing limits.
  static Wide Nanoseconds(const Load& load, int64_t bytes_per_s) {
    if (bytes_per_s == 0) return 0;
    return (std::max(load.out, load.in) * 1'000'000'000 + bytes_per_s - 1) / bytes_per_s;
  }

  uint32_t SiteOf(uint32_t rank) const {
    return static_cast<uint32_t>(RowOfRank(plan_.sites, rank));
  }

  void AddMessage(uint32_t from, uint32_t to, int64_t bytes) {
    const PlanSite& src = plan_.sites[from];
    const PlanSite& dst = plan_.sites[to];
    if (from == to) return;
    if (src.domain == dst.domain) {
      scaleup_[from].out += bytes;
      scaleup_[to].in += bytes;
      return;
    }
    fabric_ += bytes;
    if (src.group == dst.group) return;
    if (src.group != kNoId) uplinks_[src.group].out += bytes;
    if (dst.group != kNoId) uplinks_[dst.group].in += bytes;
  }

  void AddForwards(const PlanTree& tree) {
    const int64_t bytes = plan_.streams[tree.stream].bytes;
    for (uint32_t p = 1; p < tree.member_count; ++p) {
      const uint32_t parent = tree.first_member + TreeParent(tree.kind, p);
      AddMessage(SiteOf(plan_.tree_members[parent]),
                 SiteOf(plan_.tree_members[tree.first_member + p]), bytes);
    }
  }

  // Needers of a lander's domain copy from it, itself included.
  void AddCopies(const PlanTree& tree) {
    const PlanStream& stream = plan_.streams[tree.stream];
    std::map<uint32_t, int64_t> bytes_of_needers;
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      bytes_of_needers[plan_.classes[plan_.pieces[p].cls].needers] += plan_.pieces[p].extent;
    }
    for (uint32_t m = tree.first_member; m < tree.first_member + tree.member_count; ++m) {
      const uint32_t lander = SiteOf(plan_.tree_members[m]);
      for (const auto& [needers, bytes] : bytes_of_needers) {
        for (const uint32_t needer : NeedersIn(needers, plan_.sites[lander].domain)) {
          memory_[needer] += bytes;
          AddMessage(lander, needer, bytes);
        }
      }
    }
  }

  // Sites of a rank set by domain, found when first asked for.
  const std::vector<uint32_t>& NeedersIn(uint32_t set, uint32_t domain) {
    auto [by_domain, is_new] = sites_of_set_.try_emplace(set);
    if (is_new) {
      for (const Rank rank : plan_.rank_sets[set]) {
        const uint32_t site = SiteOf(rank);
        by_domain->second[plan_.sites[site].domain].push_back(site);
      }
    }
    return by_domain->second[domain];
  }

  const Plan& plan_;
  std::vector<Load> scaleup_;  // per site
  std::vector<Wide> memory_;   // per site
  std::vector<Load> uplinks_;  // per group
  Wide fabric_ = 0;
  std::map<uint32_t, std::map<uint32_t, std::vector<uint32_t>>> sites_of_set_;
};

}  // namespace

int64_t BusiestSharedPortNs(const Plan& plan) { return SharedPorts(plan).BusiestNs(); }

int64_t StatedNs(const Plan& plan, int64_t by_rounds_ns, int64_t round_ns) {
  return std::max(by_rounds_ns,
                  BusiestSharedPortNs(plan) + int64_t{plan.header.totals.rounds} * round_ns);
}

}  // namespace reshard
