// Mutations: one change to a good plan that exactly one rule of the verifier forbids.
//
// Each rule has at least one. A mutation of a plan goes through VerifyPlan or VerifyRank, one of
// the expanded programs, where the plan's tables cannot express the mistake, through
// VerifyPrograms.
#ifndef RESHARD_TESTS_MUTATION_RULE_MUTATIONS_H_
#define RESHARD_TESTS_MUTATION_RULE_MUTATIONS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"
#include "runtime/plan/verify.h"

namespace reshard::testing {

struct PlanMutation {
  std::string name;
  VerifyRule rule{};
  Plan plan;                     // already mutated
  std::optional<uint32_t> rank;  // judged by VerifyRank of it in place of VerifyPlan
};
std::vector<PlanMutation> PlanMutations();

struct ProgramMutation {
  std::string name;
  VerifyRule rule{};
  Plan plan;
  std::function<void(std::vector<Program>*)> mutate;  // programs of all ranks
};
std::vector<ProgramMutation> ProgramMutations();

// The toy with groups, a shared fabric and a cut witness of every kind.
Plan CutPlan();
// Part of PlanMutations: what is wrong about these witnesses.
std::vector<PlanMutation> CutMutations();

// One sender, 40 receivers in domains of their own: 20 messages in each of two rounds.
Plan WidePlan();
// One receiver, a sender more than a slice may have: all but one in the first of two rounds.
Plan GatheredPlan();

}  // namespace reshard::testing

#endif  // RESHARD_TESTS_MUTATION_RULE_MUTATIONS_H_
