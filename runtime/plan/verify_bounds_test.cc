#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/testing/small_plan.h"
#include "runtime/plan/verify.h"

namespace reshard {
namespace {

using testing::ColocatedPlan;
using testing::ExpertPlan;
using testing::NamedPlan;
using testing::SmallPlans;

TEST_CASE("the plans made by hand are sound") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    const VerifyReport report = VerifyBounds(named.plan, {});
    CHECK(report.ok());
    for (const Violation& v : report.violations) MESSAGE(v.where << ": " << v.text);
  }
}

struct Mutation {
  std::string name;
  VerifyRule rule;
  std::function<void(Plan*)> apply;
};

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

// Each breaks one thing that a reader takes for granted.
const std::vector<Mutation>& Mutations() {
  static const std::vector<Mutation> mutations = {
      {"version", VerifyRule::kBounds, [](Plan* p) { p->header.version = 2; }},
      {"option order", VerifyRule::kOrder,
       [](Plan* p) { std::swap(p->header.options[0], p->header.options[1]); }},
      {"negative total", VerifyRule::kBounds, [](Plan* p) { p->header.totals.messages = -1; }},
      {"endless rounds", VerifyRule::kBounds,
       [](Plan* p) { p->header.totals.rounds = 4'000'000'000U; }},
      {"NIC without bandwidth", VerifyRule::kBounds, [](Plan* p) { p->nics[1].bytes_per_s = 0; }},
      {"domain latency", VerifyRule::kBounds, [](Plan* p) { p->domains[0].latency_ns = -1; }},
      {"fabric latency", VerifyRule::kBounds, [](Plan* p) { p->fabric.latency_ns = -1; }},
      {"group bandwidth", VerifyRule::kBounds,
       [](Plan* p) {
         p->groups.push_back({"g", -1});
       }},
      {"site order", VerifyRule::kOrder, [](Plan* p) { std::swap(p->sites[0], p->sites[1]); }},
      {"site domain", VerifyRule::kBounds, [](Plan* p) { p->sites[0].domain = 2; }},
      {"site group", VerifyRule::kBounds, [](Plan* p) { p->sites[0].group = 0; }},
      {"site nic", VerifyRule::kBounds, [](Plan* p) { p->sites[0].nics[0] = 4; }},
      {"cut kind", VerifyRule::kBounds,
       [](Plan* p) { p->cuts[0].kind = static_cast<PlanCutKind>(7); }},
      {"cut bandwidth", VerifyRule::kBounds, [](Plan* p) { p->cuts[0].bytes_per_s = 0; }},
      {"cut domain", VerifyRule::kBounds, [](Plan* p) { p->cuts[0].members[0] = 9; }},
      {"rank order", VerifyRule::kOrder, [](Plan* p) { p->ranks[1].rank = 0; }},
      {"rank without site", VerifyRule::kBounds, [](Plan* p) { p->sites.pop_back(); }},
      {"unaligned slot", VerifyRule::kBounds, [](Plan* p) { p->ranks[0].pack_slot_bytes = 100; }},
      {"huge slot", VerifyRule::kBounds,
       [](Plan* p) { p->ranks[0].recv_slot_bytes = kHuge / 256 * 256; }},
      {"injects overlap", VerifyRule::kBounds, [](Plan* p) { p->ranks[1].first_inject = 0; }},
      {"injects left over", VerifyRule::kBounds, [](Plan* p) { --p->ranks[1].inject_count; }},
      {"empty set", VerifyRule::kBounds, [](Plan* p) { p->rank_sets.push_back({}); }},
      {"set order", VerifyRule::kOrder,
       [](Plan* p) {
         p->rank_sets.push_back({1, 1});
       }},
      {"set of strangers", VerifyRule::kBounds, [](Plan* p) { p->rank_sets.push_back({9}); }},
      {"tensor loops", VerifyRule::kBounds, [](Plan* p) { p->supers[0].loop_extent[0] = 0; }},
      {"tensor loop count", VerifyRule::kBounds,
       [](Plan* p) { p->supers[0].loop_begin.push_back(0); }},
      {"tensor name text", VerifyRule::kBounds, [](Plan* p) { p->supers[0].name.text.pop_back(); }},
      {"tensor name coef", VerifyRule::kBounds,
       [](Plan* p) { p->supers[0].name.holes[0].coef.pop_back(); }},
      {"tensor name overflow", VerifyRule::kBounds,
       [](Plan* p) { p->supers[0].name.holes[0].coef[0] = kHuge; }},
      {"tensor dtype", VerifyRule::kBounds,
       [](Plan* p) { p->supers[0].dtype = static_cast<DType>(kDTypeCount); }},
      {"tensor shape", VerifyRule::kBounds, [](Plan* p) { p->supers[0].shape[0] = -1; }},
      {"tensor size", VerifyRule::kBounds,
       [](Plan* p) {
         p->supers[0].shape = {kHuge, 8};
       }},
      {"weight 0", VerifyRule::kBounds, [](Plan* p) { p->supers[0].dims[0].weight = 0; }},
      {"weight not a multiple", VerifyRule::kBounds,
       [](Plan* p) {
         p->supers[0].dims.insert(p->supers[0].dims.begin() + 1, {1, 3});
       }},
      {"weights end above 1", VerifyRule::kBounds,
       [](Plan* p) {
         p->supers[0].dims.pop_back(), p->supers[0].dims.push_back({3, 2});
       }},
      {"axis without dim", VerifyRule::kBounds, [](Plan* p) { p->supers[0].dims.pop_back(); }},
      {"too many dims", VerifyRule::kBounds,
       [](Plan* p) { p->supers[0].shape.assign(kMaxPlanDims + 1, 1); }},
      {"param side", VerifyRule::kBounds,
       [](Plan* p) { p->families[0].side = static_cast<PlanSide>(2); }},
      {"param set", VerifyRule::kBounds, [](Plan* p) { p->families[0].rank_set = kNoId; }},
      {"param dtype", VerifyRule::kBounds,
       [](Plan* p) { p->families[0].dtype = static_cast<DType>(200); }},
      {"param size", VerifyRule::kBounds, [](Plan* p) { ++p->families[0].bytes; }},
      {"more params than can be listed", VerifyRule::kBounds,
       [](Plan* p) {
         p->families[0].loop_extent = {int64_t{1} << 13, int64_t{1} << 13};
       }},
      {"more params than can be listed, of two families", VerifyRule::kBounds,
       [](Plan* p) {
         p->families[2].loop_extent = {int64_t{1} << 23};
         p->families[4].loop_begin = {0};
         p->families[4].loop_extent = {int64_t{1} << 23};
         p->families[3].loop_extent = {int64_t{1} << 23};
         p->families[4].loop_extent[0] += 1;
       }},
      {"param instances", VerifyRule::kBounds,
       [](Plan* p) {
         p->families[0].loop_extent = {int64_t{1} << 40, int64_t{1} << 40};
       }},
      {"param second name", VerifyRule::kBounds,
       [](Plan* p) { p->families[2].shares[0].holes.clear(); }},
      {"place tensor", VerifyRule::kBounds, [](Plan* p) { p->places[0].super = 1; }},
      {"place param", VerifyRule::kBounds, [](Plan* p) { p->places[0].family = kNoId; }},
      {"place dims", VerifyRule::kBounds, [](Plan* p) { p->place_dims.pop_back(); }},
      {"place first dim", VerifyRule::kBounds, [](Plan* p) { p->places[0].first_dim = kNoId; }},
      {"place before its loop", VerifyRule::kBounds, [](Plan* p) { p->place_dims[0].begin = 0; }},
      {"place after its axis", VerifyRule::kBounds, [](Plan* p) { p->place_dims[3].extent = 7; }},
      {"place digit", VerifyRule::kBounds, [](Plan* p) { p->place_dims[2].extent = 3; }},
      {"place empty", VerifyRule::kBounds, [](Plan* p) { p->place_dims[3].extent = 0; }},
      {"place stride", VerifyRule::kBounds,
       [](Plan* p) { p->place_dims[3].stride_bytes = kHuge / 2; }},
      {"place instance stride", VerifyRule::kBounds,
       [](Plan* p) { p->place_dims[0].instance_stride = -kHuge; }},
      {"place base", VerifyRule::kBounds, [](Plan* p) { p->places[0].base_bytes = kHuge; }},
      {"fill param", VerifyRule::kBounds, [](Plan* p) { p->fills[0].family = kNoId; }},
      {"fill rule", VerifyRule::kBounds,
       [](Plan* p) { p->fills[0].rule = static_cast<PlanFillRule>(2); }},
      {"fill dims", VerifyRule::kBounds, [](Plan* p) { p->fills[0].dim_count = 3; }},
      {"fill extent", VerifyRule::kBounds, [](Plan* p) { p->fill_dims[0].extent = kHuge; }},
      {"fill stride", VerifyRule::kBounds, [](Plan* p) { p->fill_dims[0].stride_bytes = kHuge; }},
      {"interval", VerifyRule::kBounds, [](Plan* p) { p->intervals[0].extent = 0; }},
      {"interval begin", VerifyRule::kBounds, [](Plan* p) { p->intervals[0].begin = kHuge; }},
      {"cell dim", VerifyRule::kBounds, [](Plan* p) { p->cell_dims[0] = kNoId; }},
      {"cell dims", VerifyRule::kBounds, [](Plan* p) { p->cells[0].first_dim = 16; }},
      {"cell tensor", VerifyRule::kBounds, [](Plan* p) { p->cells[0].super = 1; }},
      {"cell outside", VerifyRule::kBounds, [](Plan* p) { p->cell_dims[0] = 3; }},
      {"class set", VerifyRule::kBounds, [](Plan* p) { p->classes[0].needers = kNoId; }},
      {"class bytes", VerifyRule::kBounds, [](Plan* p) { p->classes[0].bytes = 0; }},
      {"class cells", VerifyRule::kBounds, [](Plan* p) { p->classes[1].first_cell = 0; }},
      {"cells left over", VerifyRule::kBounds, [](Plan* p) { p->cells.push_back(p->cells[0]); }},
      {"piece class", VerifyRule::kBounds, [](Plan* p) { p->pieces[0].cls = kNoId; }},
      {"piece outside", VerifyRule::kBounds, [](Plan* p) { p->pieces[0].begin = 16; }},
      {"piece empty", VerifyRule::kBounds, [](Plan* p) { p->pieces[0].extent = 0; }},
      {"piece overflow", VerifyRule::kBounds, [](Plan* p) { p->pieces[0].begin = kHuge; }},
      {"stream pieces", VerifyRule::kBounds, [](Plan* p) { p->streams[1].first_piece = 0; }},
      {"stream piece count", VerifyRule::kBounds,
       [](Plan* p) { p->streams[1].piece_count = kNoId; }},
      {"stream bytes", VerifyRule::kBounds, [](Plan* p) { p->streams[0].bytes = kHuge; }},
      {"tree stream", VerifyRule::kBounds, [](Plan* p) { p->trees[0].stream = 2; }},
      {"tree order", VerifyRule::kOrder,
       [](Plan* p) { std::swap(p->trees[0].stream, p->trees[1].stream); }},
      {"tree kind", VerifyRule::kBounds,
       [](Plan* p) { p->trees[0].kind = static_cast<PlanTreeKind>(kTreeKindTexts.size()); }},
      {"tree members", VerifyRule::kBounds, [](Plan* p) { p->trees[1].member_count = 2; }},
      {"tree member", VerifyRule::kBounds, [](Plan* p) { p->tree_members[0] = 9; }},
      {"members left over", VerifyRule::kBounds, [](Plan* p) { p->tree_members.push_back(2); }},
      {"two landers in a domain", VerifyRule::kTreeShape,
       [](Plan* p) { p->trees.pop_back(), p->trees[0].member_count = 2; }},
      {"inject source", VerifyRule::kBounds, [](Plan* p) { p->injects[0].source = 1; }},
      {"inject tree", VerifyRule::kBounds, [](Plan* p) { p->injects[0].tree = 2; }},
      {"inject order", VerifyRule::kOrder,
       [](Plan* p) { std::swap(p->injects[0], p->injects[1]); }},
      {"inject round", VerifyRule::kBounds, [](Plan* p) { p->injects[2].round = 2; }},
      {"inject outside", VerifyRule::kBounds, [](Plan* p) { p->injects[0].extent = 385; }},
      {"inject negative", VerifyRule::kBounds, [](Plan* p) { p->injects[0].begin = -1; }},
      {"gap", VerifyRule::kSliceCoverage, [](Plan* p) { p->injects[0].extent -= 16; }},
      {"overlap", VerifyRule::kSliceCoverage, [](Plan* p) { p->injects[0].extent += 16; }},
      {"end", VerifyRule::kSliceCoverage, [](Plan* p) { p->injects[4].extent -= 16; }},
      {"torn slice", VerifyRule::kSliceCoverage,
       [](Plan* p) {
         p->injects[0].round = 0;  // rank 0: tree 0 [0, 192)
         p->injects[3].round = 1;  // rank 1: tree 0 [192, 256)
         p->injects[4].round = 0;  // rank 1: tree 0 [256, 384)
         std::swap(p->injects[3], p->injects[4]);
       }},
  };
  return mutations;
}

TEST_CASE("whatever a reader takes for granted is checked") {
  for (const Mutation& mutation : Mutations()) {
    CAPTURE(mutation.name);
    Plan plan = ExpertPlan();
    mutation.apply(&plan);
    const VerifyReport report = VerifyBounds(plan, {});
    CHECK(!report.ok());
    if (report.ok()) continue;
    CHECK(report.violations[0].rule == mutation.rule);
    CHECK(!report.violations[0].where.empty());
  }
}

TEST_CASE("violations stop at the limit, but one is always told") {
  Plan plan = ColocatedPlan();
  for (PlanNic& nic : plan.nics) nic.bytes_per_s = 0;
  VerifyOptions options;
  options.max_violations = 2;
  CHECK(VerifyBounds(plan, options).violations.size() == 2);
  options.max_violations = 0;
  CHECK(VerifyBounds(plan, options).violations.size() == 1);
}

}  // namespace
}  // namespace reshard
