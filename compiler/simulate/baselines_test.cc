// Baselines against loads worked out by hand. A NIC carries 1 GB/s: a byte costs a nanosecond.
#include "compiler/simulate/baselines.h"

#include <doctest/doctest.h>

#include <vector>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

Baseline Of(const Plan& plan, BaselineKind kind, int64_t round_cost_ns = 0) {
  for (const Baseline& baseline : ComputeBaselines(plan, round_cost_ns)) {
    if (baseline.kind == kind) return baseline;
  }
  FAIL("no such baseline");
  return {};
}

TEST_CASE("4096 bytes that two ranks hold and three domains of two need") {
  Plan plan = testing::ReplicatedPlan();
  plan.fabric.latency_ns = 0;
  // Rank 0 has everything and sends it once around the domains.
  CHECK(Of(plan, BaselineKind::kSingleRing).time_ns == 4096);
  CHECK(Of(plan, BaselineKind::kSingleRing).buffer_bytes == 4096);
  // Six ranks get all of it from rank 0; from both holders in turn; once per domain.
  CHECK(Of(plan, BaselineKind::kWholeTiles).time_ns == 6 * 4096);
  CHECK(Of(plan, BaselineKind::kDirect).time_ns == 3 * 4096);
  CHECK(Of(plan, BaselineKind::kDirect).most_nic_bytes == 3 * 4096);
  CHECK(Of(plan, BaselineKind::kDirect).buffer_bytes == 0);
  std::vector<int64_t> sent, received;
  for (const NicBytes& nic : Of(plan, BaselineKind::kDirect).nics) {
    sent.push_back(nic.out);
    received.push_back(nic.in);
  }
  CHECK(sent == std::vector<int64_t>{3 * 4096, 3 * 4096, 0, 0, 0, 0, 0, 0});
  CHECK(received == std::vector<int64_t>{0, 0, 4096, 4096, 4096, 4096, 4096, 4096});
  CHECK(Of(plan, BaselineKind::kDomainChains).time_ns == 4096);
  // A round of 8 ns: one slice for what takes one hop; over three hops 32 slices are the best.
  CHECK(Of(plan, BaselineKind::kDirect, 8).time_ns == 3 * 4096 + 8);
  CHECK(Of(plan, BaselineKind::kDomainChains, 8).time_ns == (32 + 3 - 1) * (4096 / 32 + 8));
  CHECK(Of(plan, BaselineKind::kDomainChains, 8).busiest_port_ns == 4096);
  plan.fabric.latency_ns = 5;
  CHECK(Of(plan, BaselineKind::kDomainChains, 3).time_ns == (32 + 3 - 1) * (4096 / 32 + 8));
}

TEST_CASE("rows on two ranks, columns on four: tiles are whole, so each gets all of the matrix") {
  Plan plan = testing::ToyPlan();
  plan.fabric.latency_ns = 0;
  // 8 x 8 floats, 128 bytes a source: each of four needs both tiles, or half a column block of
  // each.
  CHECK(Of(plan, BaselineKind::kWholeTiles).time_ns == 4 * 128);
  CHECK(Of(plan, BaselineKind::kWholeTiles).buffer_bytes == 128);
  CHECK(Of(plan, BaselineKind::kDirect).time_ns == 4 * 32);
}

TEST_CASE("no rule beats the bound, and a topology without NICs has no baselines") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const std::vector<Baseline> baselines = ComputeBaselines(named.plan, 0);
    REQUIRE(baselines.size() == 5);
    for (const Baseline& baseline : baselines) {
      CAPTURE(BaselineText(baseline.kind));
      CHECK(baseline.time_ns >= named.plan.header.totals.bound_ns);
    }
    Plan cut = named.plan;
    for (PlanSite& site : cut.sites) site.nics.clear();
    CHECK(ComputeBaselines(cut, 0).empty());
  }
}

}  // namespace
}  // namespace reshard
