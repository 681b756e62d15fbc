#include "compiler/emit/plan_totals.h"

#include <doctest/doctest.h>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using testing::NamedPlan;
using testing::SmallPlans;

TEST_CASE("totals are those written by hand") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    const PlanTotals& want = named.plan.header.totals;
    const PlanTotals got = CountTotals(named.plan);
    CHECK(got.source_bytes == want.source_bytes);
    CHECK(got.destination_bytes == want.destination_bytes);
    CHECK(got.network_bytes == want.network_bytes);
    CHECK(got.scaleup_bytes == want.scaleup_bytes);
    CHECK(got.local_bytes == want.local_bytes);
    CHECK(got.messages == want.messages);
    CHECK(got.max_staging_bytes == want.max_staging_bytes);
    CHECK(got.rounds == want.rounds);
    CHECK(got.bound_ns == want.bound_ns);
  }
}

}  // namespace
}  // namespace reshard
