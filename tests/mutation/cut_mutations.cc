// Cut witnesses of every kind, and what is wrong about them.
#include <utility>

#include "runtime/plan/testing/small_plan.h"
#include "tests/mutation/rule_mutations.h"

namespace reshard::testing {

Plan CutPlan() {
  Plan plan = ToyPlan();
  plan.groups = {{"train", 3'000'000'000}, {"infer", 3'000'000'000}};
  for (PlanSite& site : plan.sites) site.group = site.rank < 2 ? 0 : 1;
  plan.fabric.bytes_per_s = 4'000'000'000;
  plan.cuts.push_back({PlanCutKind::kGroupIngress, {1}, 256, 3'000'000'000});
  plan.cuts.push_back({PlanCutKind::kGroupEgress, {0}, 256, 3'000'000'000});
  plan.cuts.push_back({PlanCutKind::kCopies, {}, 256, 4'000'000'000});
  plan.cuts.push_back({PlanCutKind::kRankIngress, {2}, 64, 11'000'000'000});
  plan.cuts.push_back({PlanCutKind::kRankIngress, {2, 3}, 128, 22'000'000'000});
  plan.cuts.push_back({PlanCutKind::kRankEgress, {0}, 128, 11'000'000'000});
  return plan;
}

std::vector<PlanMutation> CutMutations() {
  std::vector<PlanMutation> mutations;
  const auto add = [&](std::string name, const std::function<void(Plan*)>& change,
                       VerifyRule rule = VerifyRule::kCut) {
    Plan plan = CutPlan();
    change(&plan);
    mutations.push_back({std::move(name), rule, std::move(plan), std::nullopt});
  };
  for (size_t c = 3; c < CutPlan().cuts.size(); ++c) {
    const std::string kind(FactsOf(CutPlan().cuts[c].kind).text);
    add(kind + " of fewer bytes", [c](Plan* p) { --p->cuts[c].bytes; });
    add(kind + " over faster ports", [c](Plan* p) { ++p->cuts[c].bytes_per_s; });
  }
  add("ingress over ways to NICs that are slower than these", [](Plan* p) {
    p->sites[2].host_bytes_per_s = 500'000'000;
    p->header.totals.predicted_ns += 64;  // of rank 2 in round 0
  });
  add("a group that a domain reaches out of", [](Plan* p) { p->sites[5].group = 0; });
  add("a group that hosts outside share a domain with", [](Plan* p) { p->sites[5].group = kNoId; });
  add("uplinks without a limit", [](Plan* p) { p->groups[1].uplink_bytes_per_s = 0; });
  add("ingress of a group that holds what it needs", [](Plan* p) { p->cuts[3].members = {0, 1}; });
  add("egress of a group that holds nothing", [](Plan* p) { p->cuts[4].members = {1}; });
  add("copies over a fabric without a limit", [](Plan* p) { p->fabric.bytes_per_s = 0; });
  add("ranks that do not rise", [](Plan* p) { p->cuts[7].members = {3, 2}; });
  add("what two ranks hold as egress of one", [](Plan* p) { p->cuts[8].bytes = 256; });
  add(
      "copies of some domains", [](Plan* p) { p->cuts[5].members = {1}; }, VerifyRule::kBounds);
  add(
      "a group that does not exist", [](Plan* p) { p->cuts[3].members = {2}; },
      VerifyRule::kBounds);
  add(
      "a rank that does not exist", [](Plan* p) { p->cuts[6].members = {6}; }, VerifyRule::kBounds);
  return mutations;
}

}  // namespace reshard::testing
