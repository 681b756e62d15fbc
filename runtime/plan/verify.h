// The verifier: proves from a Plan alone that executing it is right.
//
// Shares no arithmetic with the compiler's passes. Rules and their codes are in verify_rules.def;
// each rule is checked in one place and has a mutation test. Local rules concern one rank and are
// checked at every start; global rules concern all ranks.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

struct Program;

enum class VerifyRule : uint16_t {
#define RESHARD_RULE(name, text, meaning) name,
#include "runtime/plan/verify_rules.def"
#undef RESHARD_RULE
};
std::string_view RuleText(VerifyRule rule);  // "cell-coverage"

struct Violation {
  VerifyRule rule{};
  std::string where;  // "rank 3, round 17", "class 12", ...
  std::string text;
};
// "rank 3, round 17: error: two messages to rank 5 [message-unique]"; a caller that knows the file
// puts its name before it.
std::string Describe(const Violation& violation);

struct VerifyOptions {
  size_t max_violations = 20;
  uint64_t work_budget = uint64_t{4} << 30;  // elementary steps; past it `exhausted` is set
};

struct VerifyReport {
  std::vector<Violation> violations;
  bool exhausted = false;  // the budget ran out: neither right nor wrong is claimed
  bool ok() const { return violations.empty() && !exhausted; }
};

// Bounds rules: indices, counts, ranges, orders. LoadPlan runs them; the others need them to hold.
// Checks slice-coverage whole and of tree-shape that no tree has two landers in one domain, because
// the cost of expanding a rank rests on both.
VerifyReport VerifyBounds(const Plan& plan, const VerifyOptions& options);
// Local rules of one rank: its params covered exactly once, its slots, its order of operations.
// Puts the rank's program, if its rules got that far, into `program` unless null.
VerifyReport VerifyRank(const Plan& plan, uint32_t rank, const VerifyOptions& options,
                        Program* program = nullptr);
// Everything.
VerifyReport VerifyPlan(const Plan& plan, const VerifyOptions& options);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_H_
