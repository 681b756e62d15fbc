#include "compiler/emit/shared_ports.h"

#include <doctest/doctest.h>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

TEST_CASE("copies inside domains pass scale-up ports") {
  // Landers 2, 5 and 6 hand 4096 bytes to the other rank of their domain, at 10 GB/s.
  CHECK(BusiestSharedPortNs(testing::ReplicatedPlan()) == 410);
  // Each rank is a lander of its own bytes.
  CHECK(BusiestSharedPortNs(testing::ToyPlan()) == 0);
}

TEST_CASE("messages between groups pass their uplinks") {
  Plan plan = testing::ReplicatedPlan();
  plan.groups = {{"a", 2'000'000'000}, {"b", 1'000'000'000}};
  // Domains train0 and infer0 in group a, the others in b: only 2 -> 5 crosses.
  for (PlanSite& site : plan.sites) site.group = site.domain < 2 ? 0 : 1;
  CHECK(BusiestSharedPortNs(plan) == 4096);
  // Outside all groups only the other end's uplinks count; 2 -> 5 enters b, 5 -> 6 leaves it.
  for (PlanSite& site : plan.sites) site.group = site.domain == 2 ? 1 : kNoId;
  CHECK(BusiestSharedPortNs(plan) == 4096);
}

TEST_CASE("every message between domains passes a shared fabric") {
  Plan plan = testing::ReplicatedPlan();
  plan.fabric.bytes_per_s = 1'000'000'000;
  CHECK(BusiestSharedPortNs(plan) == 3 * 4096);
}

}  // namespace
}  // namespace reshard
