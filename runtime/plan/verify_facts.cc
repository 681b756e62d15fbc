#include "runtime/plan/verify_facts.h"

#include <algorithm>

namespace reshard {

VerifyFacts::VerifyFacts(const Plan& plan) : index_(BuildProgramIndex(plan)) {
  for (const uint32_t rank : plan.tree_members) {
    member_rank_.push_back(index_.RankIndex(plan, rank));
  }
  for (const PlanRank& rank : plan.ranks) {
    rank_domain_.push_back(plan.sites[index_.SiteIndex(plan, rank.rank)].domain);
  }
  std::vector<int64_t> counts(plan.domains.size(), 0);
  std::vector<uint32_t> touched;
  for (const RankList& set : plan.rank_sets) {
    touched.clear();
    size_t at = 0;  // sets and plan.ranks both rise
    for (const Rank rank : set) {
      while (plan.ranks[at].rank < rank) ++at;
      if (counts[rank_domain_[at]]++ == 0) touched.push_back(rank_domain_[at]);
    }
    std::sort(touched.begin(), touched.end());
    DomainCounts& domains = set_domains_.emplace_back();
    for (const uint32_t domain : touched) {
      domains.emplace_back(domain, counts[domain]);
      counts[domain] = 0;
    }
  }
}

std::string DescribeFamily(const PlanFamily& family, const Plan& plan) {
  return "param '" + family.name.Describe(family.loop_begin, family.loop_extent) + "' (" +
         (plan.rank_sets[family.rank_set].size() == 1 ? "rank " : "ranks ") +
         DescribeRanks(plan.rank_sets[family.rank_set]) + ")";
}

std::string InstanceName(const PlanFamily& family, int64_t instance) {
  std::vector<int64_t> values = family.loop_begin;
  for (size_t d = values.size(); d-- > 0;) {
    values[d] += instance % family.loop_extent[d];
    instance /= family.loop_extent[d];
  }
  return family.name.Instance(values);
}

}  // namespace reshard
