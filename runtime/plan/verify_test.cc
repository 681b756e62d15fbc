#include "runtime/plan/verify.h"

#include <string>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

std::string Text(const VerifyReport& report) {
  std::string text = report.exhausted ? "exhausted\n" : "";
  for (const Violation& violation : report.violations) text += Describe(violation) + "\n";
  return text;
}

TEST_CASE("plans made by hand are right") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    CHECK(Text(VerifyPlan(named.plan, {})) == "");
    for (const PlanRank& rank : named.plan.ranks) {
      CAPTURE(rank.rank);
      CHECK(Text(VerifyRank(named.plan, rank.rank, {})) == "");
    }
  }
}

TEST_CASE("the ingress of several domains is the sum of theirs") {
  Plan plan = testing::ReplicatedPlan();
  plan.cuts.push_back({PlanCutKind::kIngress, {1, 2}, 8192, 4'000'000'000});
  CHECK(Text(VerifyPlan(plan, {})) == "");
  plan.cuts.back().bytes = 4096;  // both need the same bytes
  const VerifyReport report = VerifyPlan(plan, {});
  REQUIRE(report.violations.size() == 1);
  CHECK(report.violations[0].rule == VerifyRule::kCut);
  // A domain that holds what it needs receives nothing.
  Plan colocated = testing::ColocatedPlan();
  const int64_t both = colocated.cuts[0].bytes + colocated.cuts[1].bytes;
  colocated.cuts.push_back({PlanCutKind::kIngress, {0, 1}, both, 4'000'000'000});
  CHECK(Text(VerifyPlan(colocated, {})) == "");
}

TEST_CASE("the time of a plan whose copies take the longest is what the busiest memory takes") {
  // Rank 1 packs two rows of 128 bytes and copies four; rank 3, twice as slow, packs two and copies
  // one. 256 ns by rounds.
  Plan plan = testing::ColocatedPlan();
  plan.sites[1].copy_bytes_per_s = 1'000'000'000;
  plan.header.totals.predicted_ns = 2 * 128 + 4 * 128 + 20'000;
  CHECK(Text(VerifyPlan(plan, {})) == "");
  plan.sites[3].copy_bytes_per_s = 400'000'000;
  plan.header.totals.predicted_ns = (2 * 128 + 128) * 5 / 2 + 20'000;
  CHECK(Text(VerifyPlan(plan, {})) == "");
  ++plan.header.totals.predicted_ns;
  const VerifyReport report = VerifyPlan(plan, {});
  REQUIRE(report.violations.size() == 1);
  CHECK(report.violations[0].rule == VerifyRule::kTime);
}

TEST_CASE("a violation is described in one line") {
  CHECK(Describe({VerifyRule::kWriteRace, "rank 3, round 17", "recv overlaps"}) ==
        "rank 3, round 17: error: recv overlaps [write-race]");
}

}  // namespace
}  // namespace reshard
