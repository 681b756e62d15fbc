// VerifyFacts: lookups that several rules of the verifier share, made once per plan.
//
// Internal to the verifier. The plan has passed VerifyBounds and outlives the facts.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_FACTS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

class VerifyFacts {
 public:
  explicit VerifyFacts(const Plan& plan);

  const ProgramIndex& index() const { return index_; }
  // Per entry of plan.tree_members, its position in plan.ranks.
  const std::vector<uint32_t>& member_rank() const { return member_rank_; }
  // Per entry of plan.ranks.
  const std::vector<uint32_t>& rank_domain() const { return rank_domain_; }
  uint32_t DomainOfMember(uint32_t member) const { return rank_domain_[member_rank_[member]]; }

 private:
  ProgramIndex index_;
  std::vector<uint32_t> member_rank_;
  std::vector<uint32_t> rank_domain_;
};

// Per rank set of a plan, the domains in which it has ranks, rising.
class RankSetDomains {
 public:
  RankSetDomains(const Plan& plan, const VerifyFacts& facts);
  const std::vector<uint32_t>& Of(uint32_t rank_set) const { return domains_[rank_set]; }

 private:
  std::vector<std::vector<uint32_t>> domains_;
};

// Per inject: packed where it is received, or handed over inside a domain.
std::vector<bool> StaysInDomain(const Plan& plan, const VerifyFacts& facts);

// "param 'layers.{0..3}.w' (ranks 0-7)".
std::string DescribeFamily(const PlanFamily& family, const Plan& plan);
// The name of one instance of a family.
std::string InstanceName(const PlanFamily& family, int64_t instance);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_FACTS_H_
