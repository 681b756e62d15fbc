#include "runtime/run/checked_run.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

StatusOr<CheckedRunResult> Run(const Plan& plan, uint32_t executions = 1, bool check = true) {
  return RunChecked(plan, {check, executions, std::chrono::seconds(20)});
}

TEST_CASE("every byte of every small plan is right, again and again") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const StatusOr<CheckedRunResult> result = Run(named.plan, 5);
    REQUIRE(result.ok());
    CHECK(result->ok());
    CHECK_FALSE(result->first);
    CHECK(result->elapsed.size() == 5);
    CHECK(result->max_staging_bytes == named.plan.header.totals.max_staging_bytes);
    int64_t external_bytes = 0;
    for (const PlanFamily& family : named.plan.families) {
      if (family.external) external_bytes += family.bytes;
    }
    const PlanTotals& totals = named.plan.header.totals;
    // Whether the totals count external params is not this test's business.
    const int64_t per_execution = result->compared_bytes / 5;
    CHECK((per_execution == totals.source_bytes + totals.destination_bytes ||
           per_execution == totals.source_bytes + totals.destination_bytes + external_bytes));
  }
}

TEST_CASE("a stream that lacks a piece leaves bytes unwritten, which is seen") {
  Plan plan = testing::ToyPlan();
  // The lower halves of ranks 2 and 4, which are in different domains, go to each other.
  std::swap(plan.pieces[1].cls, plan.pieces[5].cls);
  const StatusOr<CheckedRunResult> result = Run(plan);
  REQUIRE(result.ok());
  CHECK_FALSE(result->ok());
  CHECK(result->wrong_bytes == 64);
  REQUIRE(result->first);
  CHECK(result->first->rank == 2);
  CHECK(result->first->Text() ==
        "rank 2, 'w.columns' [4, 0] (byte 32): expected w[4, 0], "
        "found what was there before: it was not written");
}

TEST_CASE("a rank that copies nothing is caught by the first execution") {
  Plan plan = testing::ReplicatedPlan();
  plan.rank_sets.push_back({2, 3, 4, 6, 7});
  plan.classes[0].needers = static_cast<uint32_t>(plan.rank_sets.size() - 1);
  const StatusOr<CheckedRunResult> result = Run(plan, 3);
  REQUIRE(result.ok());
  CHECK(result->wrong_bytes == 4096);
  CHECK(result->elapsed.size() == 1);
}

TEST_CASE("without a check nothing is compared") {
  const StatusOr<CheckedRunResult> result = Run(testing::ToyPlan(), 4, false);
  REQUIRE(result.ok());
  CHECK(result->compared_bytes == 0);
  CHECK(result->elapsed.size() == 4);
}

}  // namespace
}  // namespace reshard
