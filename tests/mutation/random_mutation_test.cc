// A hunt for holes: plans are changed at random, and each mutant is either refused by the verifier
// or runs and puts every byte where its own layouts want it.
//
// Changes of what no byte depends on (names and speeds of hardware, digests, options) are accepted
// and run like the plan itself. A longer hunt:
//   bazel test //tests/mutation:random_mutation_test --test_timeout=3600 --test_output=all
//     --test_env=MUTATION_SEED=7 --test_env=MUTATION_COUNT=1000000
#include <cstdlib>
#include <iostream>
#include <string>

#include "compiler/emit/plan_totals.h"
#include "doctest/doctest.h"
#include "runtime/plan/verify.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"
#include "runtime/plan/verify_time.h"
#include "runtime/run/checked_run.h"
#include "tests/mutation/compiled_plans.h"
#include "tests/mutation/random_mutator.h"
#include "tests/mutation/rule_mutations.h"

namespace reshard::testing {
namespace {

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string Texts(const VerifyReport& report) {
  std::string text = report.exhausted ? "exhausted\n" : "";
  for (const Violation& violation : report.violations) text += Describe(violation) + "\n";
  return text;
}

// Makes totals right, so that a wrong sum does not give a wrong plan away.
void FixTotals(Plan* plan) {
  if (!VerifyBounds(*plan, {}).ok()) return;
  plan->header.totals = CountTotals(*plan);
  plan->header.totals.predicted_ns = int64_t{1} << 50;
  // The time, too, where nothing but it may be wrong.
  const VerifyReport report = VerifyPlan(*plan, {});
  if (report.violations.size() != 1 || report.violations[0].rule != VerifyRule::kTime) return;
  VerifyLog log({});
  plan->header.totals.predicted_ns = FindPredictedRange(*plan, VerifyFacts(*plan), &log).most;
}

// Whatever breaks is reported with the seed and the change that made the mutant.
struct Hunt {
  uint64_t refused = 0;
  uint64_t accepted = 0;

  void Judge(const Plan& plan) {
    if (!VerifyPlan(plan, {}).ok()) {
      ++refused;
      // A rank that loads it may or may not see what is wrong, but it survives.
      if (VerifyBounds(plan, {}).ok() && refused % 4 == 0) {
        for (const PlanRank& rank : plan.ranks) static_cast<void>(VerifyRank(plan, rank.rank, {}));
      }
      return;
    }
    ++accepted;
    for (const PlanRank& rank : plan.ranks) {
      CHECK(Texts(VerifyRank(plan, rank.rank, {})) == "");
    }
    CheckedRunOptions options;
    options.executions = 2;
    options.timeout = std::chrono::seconds(20);
    const StatusOr<CheckedRunResult> result = RunChecked(plan, options);
    CHECK(result.status().ToString() == "ok");
    if (result.ok()) CHECK(result->wrong_bytes == 0);
  }
};

TEST_CASE("every mutant is refused or runs right") {
  std::vector<NamedPlan> plans = SmallPlans();
  plans.push_back({"wide", WidePlan()});
  for (NamedPlan& plan : CompiledPlans()) plans.push_back(std::move(plan));
  for (const NamedPlan& named : plans) {
    CAPTURE(named.name);
    REQUIRE(Texts(VerifyPlan(named.plan, {})) == "");
  }
  const uint64_t seed = Number("MUTATION_SEED", 1);
  const uint64_t count = Number("MUTATION_COUNT", 6000);
  Hunt hunt;
  for (uint64_t i = 0; i < count; ++i) {
    const NamedPlan& base = plans[i % plans.size()];
    const uint64_t mutant_seed = seed * 1'000'000'007 + i;
    RandomMutator mutator(mutant_seed);
    Plan plan = base.plan;
    const std::string change = mutator.Mutate(&plan);
    CAPTURE(base.name);
    CAPTURE(mutant_seed);
    CAPTURE(change);
    if (i / plans.size() % 2 == 0) FixTotals(&plan);
    hunt.Judge(plan);
  }
  std::cout << "seed " << seed << ": " << hunt.refused << " mutants refused, " << hunt.accepted
            << " run\n";
  // Neither side of the hunt may be idle.
  CHECK(hunt.refused > count / 3);
  CHECK(hunt.accepted > count / 50);
}

}  // namespace
}  // namespace reshard::testing
