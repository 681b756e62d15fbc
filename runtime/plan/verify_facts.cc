#include "runtime/plan/verify_facts.h"

#include <algorithm>

#include "runtime/plan/rank_rows.h"

namespace reshard {

VerifyFacts::VerifyFacts(const Plan& plan) : index_(BuildProgramIndex(plan)) {
  for (const uint32_t rank : plan.tree_members) {
    member_rank_.push_back(index_.RankIndex(plan, rank));
  }
  for (const PlanRank& rank : plan.ranks) {
    rank_domain_.push_back(plan.sites[index_.SiteIndex(plan, rank.rank)].domain);
  }
}

RankSetDomains::RankSetDomains(const Plan& plan, const VerifyFacts& facts) {
  std::vector<bool> seen(plan.domains.size(), false);
  for (const RankList& set : plan.rank_sets) {
    std::vector<uint32_t>& domains = domains_.emplace_back();
    size_t at = RowOfRank(plan.ranks, set[0]);  // sets and plan.ranks both rise
    for (const Rank rank : set) {
      while (plan.ranks[at].rank < rank) ++at;
      const uint32_t domain = facts.rank_domain()[at];
      if (!seen[domain]) domains.push_back(domain);
      seen[domain] = true;
    }
    std::sort(domains.begin(), domains.end());
    for (const uint32_t domain : domains) seen[domain] = false;
  }
}

std::vector<bool> StaysInDomain(const Plan& plan, const VerifyFacts& facts) {
  std::vector<bool> stays;
  stays.reserve(plan.injects.size());
  for (uint32_t r = 0; r < plan.ranks.size(); ++r) {
    const PlanRank& rank = plan.ranks[r];
    for (uint32_t i = rank.first_inject; i < rank.first_inject + rank.inject_count; ++i) {
      const PlanTree& tree = plan.trees[plan.injects[i].tree];
      stays.push_back(facts.DomainOfMember(tree.first_member) == facts.rank_domain()[r]);
    }
  }
  return stays;
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
