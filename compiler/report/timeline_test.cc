#include "compiler/report/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

TEST_CASE("a small plan is shown whole: every message and every copy between ranks") {
  const Plan plan = testing::ReplicatedPlan();
  const Timeline timeline = BuildTimeline(plan);
  CHECK(timeline.failure == "");
  REQUIRE(timeline.windows.size() == 1);
  const TimelineWindow& window = timeline.windows.front();
  CHECK(window.first_round == 0);
  CHECK(window.end_round == plan.header.totals.rounds);
  int64_t messages = 0, copied_bytes = 0, end_ps = 0;
  for (const SimSpan& span : window.spans) {
    if (span.kind == SimSpanKind::kMessage) ++messages;
    if (span.kind == SimSpanKind::kCopy) copied_bytes += span.bytes;
    end_ps = std::max(end_ps, span.end_ps);
  }
  CHECK(messages == plan.header.totals.messages);
  CHECK(copied_bytes == plan.header.totals.scaleup_bytes);
  CHECK(std::is_sorted(window.spans.begin(), window.spans.end(),
                       [](const SimSpan& a, const SimSpan& b) { return a.begin_ps < b.begin_ps; }));
  CHECK(timeline.total_ns == Simulate(plan, SimOptions{}).total_ns);
  CHECK(end_ps <= timeline.total_ns * 1000 + 500);  // which is rounded
}

TEST_CASE("the domains of a small plan are all of them, the binding one first") {
  // Every domain of replicas takes the same bytes in; the cut names one.
  Plan plan = testing::ReplicatedPlan();
  std::vector<uint32_t> domains = TimelineDomains(plan);
  REQUIRE(!plan.cuts.empty());
  CHECK(std::find(plan.cuts[0].members.begin(), plan.cuts[0].members.end(), domains[0]) !=
        plan.cuts[0].members.end());
  std::sort(domains.begin(), domains.end());
  std::vector<uint32_t> all;
  for (uint32_t d = 0; d < plan.domains.size(); ++d) all.push_back(d);
  CHECK(domains == all);
}

TEST_CASE("a plan that its topology does not connect has a reason in place of a timeline") {
  Plan plan = testing::ToyPlan();
  for (PlanSite& site : plan.sites) site.nics.clear();
  const Timeline timeline = BuildTimeline(plan);
  CHECK(timeline.failure != "");
  CHECK(timeline.windows.empty());
}

}  // namespace
}  // namespace reshard
