#include "compiler/emit/plan_totals.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/wide_int.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

// (domain, how many ranks of it), rising by domain.
using DomainCounts = std::vector<std::pair<uint32_t, int64_t>>;

class Counter {
 public:
  explicit Counter(const Plan& plan)
      : plan_(plan), index_(BuildProgramIndex(plan)), domain_counts_(plan.rank_sets.size()) {}

  PlanTotals Count() {
    CountStored();
    for (uint32_t tree = 0; tree < plan_.trees.size(); ++tree) {
      CountMessages(tree);
      CountCopies(tree);
    }
    for (const PlanRank& rank : plan_.ranks) {
      totals_.max_staging_bytes = std::max(totals_.max_staging_bytes, rank.staging_bytes());
    }
    if (!plan_.cuts.empty()) {
      const PlanCut& cut = plan_.cuts.front();
      totals_.bound_ns = static_cast<int64_t>(Wide{cut.bytes} * 1'000'000'000 / cut.bytes_per_s);
    }
    return totals_;
  }

 private:
  void CountStored() {
    for (const PlanFamily& family : plan_.families) {
      if (family.external) continue;
      int64_t bytes = family.bytes;
      for (const int64_t extent : family.loop_extent) bytes *= extent;
      bytes *= static_cast<int64_t>(plan_.rank_sets[family.rank_set].size());
      (family.side == PlanSide::kSource ? totals_.source_bytes : totals_.destination_bytes) +=
          bytes;
    }
  }

  void CountMessages(uint32_t tree_index) {
    const PlanTree& tree = plan_.trees[tree_index];
    const uint32_t head = plan_.tree_members[tree.first_member];
    const int64_t hops = tree.member_count - 1;
    uint32_t depth = 0;
    for (uint32_t p = 0; p < tree.member_count; ++p) {
      depth = std::max(depth, TreeDepth(tree.kind, p));
    }
    for (uint32_t s = index_.first_slice[tree_index]; s < index_.first_slice[tree_index + 1]; ++s) {
      const Slice& slice = index_.slices[s];
      totals_.rounds = std::max(totals_.rounds, slice.round + depth + 1);
      totals_.messages += hops;
      totals_.network_bytes += hops * slice.extent;
      for (uint32_t i = index_.first_inject[s]; i < index_.first_inject[s + 1]; ++i) {
        const PlanInject& inject = plan_.injects[index_.slice_injects[i]];
        if (inject.source == head) continue;  // packed where it is received
        if (DomainOf(inject.source) == DomainOf(head)) {
          totals_.scaleup_bytes += inject.extent;  // handed over
          continue;
        }
        ++totals_.messages;
        totals_.network_bytes += inject.extent;
      }
    }
  }

  uint32_t DomainOf(uint32_t rank) const {
    return plan_.sites[index_.SiteIndex(plan_, rank)].domain;
  }

  // Every needer in a lander's domain copies from it, the lander itself included.
  void CountCopies(uint32_t tree_index) {
    const PlanTree& tree = plan_.trees[tree_index];
    const PlanStream& stream = plan_.streams[tree.stream];
    std::map<uint32_t, int64_t> bytes_of_set;
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      bytes_of_set[plan_.classes[plan_.pieces[p].cls].needers] += plan_.pieces[p].extent;
    }
    for (uint32_t m = tree.first_member; m < tree.first_member + tree.member_count; ++m) {
      const uint32_t lander = plan_.tree_members[m];
      const uint32_t domain = DomainOf(lander);
      for (const auto& [set, bytes] : bytes_of_set) {
        const bool own = Contains(plan_.rank_sets[set], lander);
        if (own) totals_.local_bytes += bytes;
        totals_.scaleup_bytes += bytes * (RanksIn(set, domain) - (own ? 1 : 0));
      }
    }
  }

  int64_t RanksIn(uint32_t set, uint32_t domain) {
    DomainCounts& counts = domain_counts_[set];
    if (counts.empty()) {
      std::map<uint32_t, int64_t> by_domain;
      for (const Rank rank : plan_.rank_sets[set]) {
        ++by_domain[DomainOf(rank)];
      }
      counts.assign(by_domain.begin(), by_domain.end());
    }
    const auto found = std::lower_bound(
        counts.begin(), counts.end(), domain,
        [](const std::pair<uint32_t, int64_t>& entry, uint32_t d) { return entry.first < d; });
    return found != counts.end() && found->first == domain ? found->second : 0;
  }

  const Plan& plan_;
  const ProgramIndex index_;
  std::vector<DomainCounts> domain_counts_;  // per rank set, made at first use
  PlanTotals totals_;
};

}  // namespace

PlanTotals CountTotals(const Plan& plan) { return Counter(plan).Count(); }

}  // namespace reshard
