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

TEST_CASE("what a rank packs and what it copies pass its memory") {
  // Rank 0 packs its row twice and copies four rows; so do ranks 1 and 2, rank 3 copies one.
  Plan plan = testing::ColocatedPlan();
  for (PlanSite& site : plan.sites) site.copy_bytes_per_s = 1'000'000'000;
  CHECK(BusiestSharedPortNs(plan) == 2 * 128 + 4 * 128);
  for (const Rank rank : {0, 1, 2}) plan.sites[rank].copy_bytes_per_s = 0;  // nothing stated
  CHECK(BusiestSharedPortNs(plan) == 2 * 128 + 128);
  // Packed for another rank of the domain.
  Plan carried = testing::CarriedPlan();
  carried.sites[0].copy_bytes_per_s = 1'000'000'000;
  CHECK(BusiestSharedPortNs(carried) == 4096);
}

TEST_CASE("a plan states the larger of its rounds and what its busiest shared port takes") {
  const Plan plan = testing::ReplicatedPlan();
  CHECK(StatedNs(plan, 6 * 1000 + 409, 1000) == 6 * 1000 + 410);
  CHECK(StatedNs(plan, 6 * 1000 + 411, 1000) == 6 * 1000 + 411);
}

}  // namespace
}  // namespace reshard
