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

TEST_CASE("a violation is described in one line") {
  CHECK(Describe({VerifyRule::kWriteRace, "rank 3, round 17", "recv overlaps"}) ==
        "rank 3, round 17: error: recv overlaps [write-race]");
}

}  // namespace
}  // namespace reshard
