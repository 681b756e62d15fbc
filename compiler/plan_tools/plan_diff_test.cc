#include "compiler/plan_tools/plan_diff.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "compiler/plan_tools/diff_gates.h"
#include "compiler/plan_tools/diff_tables.h"
#include "compiler/plan_tools/print_diff.h"
#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// Plans made by hand have no digest of their own: tests give them different ones.
PlanDiff Diff(const Plan& before, const Plan& after) {
  LoadedPlan a{before, {}};
  LoadedPlan b{after, {}};
  b.root_digest[0] = 1;
  return DiffPlans(a, b);
}

const TensorChange* Find(const PlanDiff& diff, TensorChangeKind kind) {
  for (const TensorChange& change : diff.tensors) {
    if (change.kind == kind) return &change;
  }
  return nullptr;
}

bool OnlyTablesDiffer(const PlanDiff& diff) {
  return !diff.Differs(DiffSection::kFigures) && !diff.Differs(DiffSection::kLayouts) &&
         !diff.Differs(DiffSection::kDomains) && !diff.Differs(DiffSection::kNics) &&
         !diff.Differs(DiffSection::kTensors) && !diff.Differs(DiffSection::kOptions) &&
         diff.Differs(DiffSection::kTables);
}

// Whether one gate lets (first, second) pass; only `staging` of them differs.
bool Passes(const std::string& gate, int64_t first, int64_t second) {
  Plan before = testing::ToyPlan();
  Plan after = before;
  before.header.totals.max_staging_bytes = first;
  after.header.totals.max_staging_bytes = second;
  const StatusOr<std::vector<Gate>> gates = ParseGates(gate);
  REQUIRE(gates.ok());
  REQUIRE(gates->size() == 1);
  return JudgeGates(*gates, Diff(before, after)).at(0).passed;
}

GateResult Judged(const std::string& gate, const PlanDiff& diff) {
  const StatusOr<std::vector<Gate>> gates = ParseGates(gate);
  REQUIRE(gates.ok());
  return JudgeGates(*gates, diff).at(0);
}

// Replaces every destination place by places of these rows of it (its first dim).
void NeedOnlyRows(const std::vector<std::pair<int64_t, int64_t>>& rows, Plan* plan) {
  std::vector<PlanPlace> places;
  for (const PlanPlace& place : plan->places) {
    if (plan->families[place.family].side == PlanSide::kSource) {
      places.push_back(place);
      continue;
    }
    for (const auto& [begin, end] : rows) {
      PlanPlace part = place;
      part.first_dim = static_cast<uint32_t>(plan->place_dims.size());
      for (size_t d = 0; d < plan->supers[place.super].dims.size(); ++d) {
        plan->place_dims.push_back(plan->place_dims[place.first_dim + d]);
      }
      PlanDimRange& first = plan->place_dims[part.first_dim];
      REQUIRE(end <= first.extent);
      part.base_bytes += begin * first.stride_bytes;
      first.begin += begin;
      first.extent = end - begin;
      places.push_back(part);
    }
  }
  plan->places = std::move(places);
}

// Cuts the first loop of the first template (of two values, one dim) in two: a layout that says the
// same with two templates.
void SplitFirstLoop(Plan* plan) {
  PlanSuper second = plan->supers[0];
  second.loop_begin[0] += 1;
  second.loop_extent[0] = 1;
  plan->supers[0].loop_extent[0] = 1;
  const uint32_t added = static_cast<uint32_t>(plan->supers.size());
  plan->supers.push_back(second);
  std::vector<PlanPlace> halves;
  for (PlanPlace& place : plan->places) {
    if (place.super != 0) continue;
    PlanPlace half = place;
    half.super = added;
    half.first_dim = static_cast<uint32_t>(plan->place_dims.size());
    for (size_t d = 0; d < second.dims.size(); ++d) {
      plan->place_dims.push_back(plan->place_dims[place.first_dim + d]);
    }
    PlanDimRange& first = plan->place_dims[place.first_dim];
    REQUIRE(first.extent == 2);
    first.extent = 1;
    half.base_bytes += first.stride_bytes;
    half.base_instance += first.instance_stride;
    plan->place_dims[half.first_dim].begin += 1;
    plan->place_dims[half.first_dim].extent = 1;
    halves.push_back(half);
  }
  plan->places.insert(plan->places.end(), halves.begin(), halves.end());
  std::vector<PlanCell> cells;
  for (PlanClass& cls : plan->classes) {
    const uint32_t first_cell = cls.first_cell;
    const uint32_t cell_count = cls.cell_count;
    cls.first_cell = static_cast<uint32_t>(cells.size());
    for (uint32_t c = 0; c < cell_count; ++c) {
      const PlanCell& whole = plan->cells[first_cell + c];
      for (uint32_t part = 0; part < (whole.super == 0 ? 2U : 1U); ++part) {
        cells.push_back(
            {part == 0 ? whole.super : added, static_cast<uint32_t>(plan->cell_dims.size())});
        for (size_t d = 0; d < plan->supers[whole.super].dims.size(); ++d) {
          PlanInterval interval = plan->intervals[plan->cell_dims[whole.first_dim + d]];
          if (d == 0 && whole.super == 0) interval = {interval.begin + part, 1};
          plan->cell_dims.push_back(static_cast<uint32_t>(plan->intervals.size()));
          plan->intervals.push_back(interval);
        }
      }
    }
    cls.cell_count = static_cast<uint32_t>(cells.size()) - cls.first_cell;
  }
  plan->cells = std::move(cells);
}

TEST_CASE("a plan equals itself, with whatever digest") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const PlanDiff diff = Diff(named.plan, named.plan);
    CHECK(diff.equal());
    CHECK(!diff.Differs(DiffSection::kFigures));
    CHECK(!diff.Differs(DiffSection::kTensors));
  }
}

TEST_CASE("all pairs of different plans differ, in both directions alike") {
  const std::vector<testing::NamedPlan> plans = testing::SmallPlans();
  for (const testing::NamedPlan& a : plans) {
    for (const testing::NamedPlan& b : plans) {
      if (a.name == b.name) continue;
      CAPTURE(a.name);
      CAPTURE(b.name);
      const PlanDiff there = Diff(a.plan, b.plan);
      const PlanDiff back = Diff(b.plan, a.plan);
      CHECK(!there.equal());
      REQUIRE(there.tables.size() == back.tables.size());
      for (size_t i = 0; i < there.tables.size(); ++i) {
        CHECK(there.tables[i].only_before == back.tables[i].only_after);
        CHECK(there.tables[i].only_after == back.tables[i].only_before);
      }
    }
  }
}

TEST_CASE("inputs of another digest that say the same make no difference") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.header.train_digest[0] ^= 1;
  after.header.topo_digest[0] ^= 1;
  const PlanDiff diff = Diff(before, after);
  CHECK(diff.equal());
  CHECK(!diff.Differs(DiffSection::kLayouts));
  CHECK(diff.inputs[0].rewritten);
  CHECK(!diff.inputs[1].rewritten);
  CHECK(diff.inputs[2].rewritten);
  after.sites[0].node += "x";
  CHECK(Diff(before, after).inputs[2].changed());
}

TEST_CASE("a template cut in two is the same template") {
  const Plan before = testing::ExpertPlan();
  Plan after = before;
  SplitFirstLoop(&after);
  REQUIRE(after.supers.size() > before.supers.size());
  CHECK(Diff(before, after).equal());
  CHECK(!Diff(before, after).Differs(DiffSection::kTensors));

  // One tensor of the second half lies elsewhere: it is named, and no other.
  Plan moved = after;
  for (size_t p = moved.places.size(); p-- > 0;) {
    if (moved.places[p].super + 1 != moved.supers.size()) continue;
    moved.places[p].base_bytes += 1;
    break;
  }
  const PlanDiff diff = Diff(before, moved);
  CHECK(!diff.equal());
  REQUIRE(diff.tensors.size() == 1);
  CHECK(diff.tensors[0].before != diff.tensors[0].after);
  CHECK(diff.tensors[0].count == 2);
  REQUIRE(diff.tensors[0].names.size() == 1);
  CHECK(diff.tensors[0].names[0] == "layers.2.experts.{1,3}.w");
}

TEST_CASE("templates of very many tensors are compared as a whole, without a list of them") {
  Plan before = testing::ExpertPlan();
  before.supers[0].loop_extent[1] = int64_t{1} << 50;
  Plan after = before;
  after.places[0].base_bytes += 1;
  std::swap(after.tree_members[0], after.tree_members[1]);
  const PlanDiff diff = Diff(before, after);
  CHECK(!diff.equal());
  REQUIRE(Find(diff, TensorChangeKind::kSourceMoved) != nullptr);
  CHECK(Find(diff, TensorChangeKind::kSourceMoved)->count == int64_t{1} << 51);
  SplitFirstLoop(&after);
  CHECK(Find(Diff(before, after), TensorChangeKind::kRemoved) != nullptr);
}

TEST_CASE("figures, inputs and options are compared one by one") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.header.totals.predicted_ns += 7;
  after.header.train_digest[0] ^= 1;
  after.header.infer_digest[0] ^= 1;
  for (PlanPlace& place : after.places) {
    if (after.families[place.family].side == PlanSide::kSource) place.base_bytes += 4;
  }
  after.header.options.emplace_back("zz", "1");
  const PlanDiff diff = Diff(before, after);
  CHECK(diff.figure(FigureName::kTime).after - diff.figure(FigureName::kTime).before == 7);
  CHECK(!diff.figure(FigureName::kBound).changed());
  CHECK(diff.inputs[0].changed());
  CHECK(diff.inputs[1].rewritten);
  CHECK(!diff.inputs[1].changed());
  CHECK(!diff.inputs[2].changed());
  CHECK(!diff.inputs[2].rewritten);
  REQUIRE(diff.options.size() == 1);
  CHECK(diff.options[0].name == "zz");
  CHECK(!diff.options[0].before);
  CHECK(diff.options[0].after == "1");
}

TEST_CASE("the busiest NIC is the one whose bytes take longest") {
  // Ranks 0 and 1 send 128 B each, ranks 2 to 5 receive 64 B each, at 1 GB/s.
  const Plan plan = testing::ToyPlan();
  const PlanDiff diff = Diff(plan, plan);
  CHECK(diff.figure(FigureName::kBusiestNic).before == 128);
  Plan slow = plan;
  slow.nics[slow.sites[5].nics.at(0)].bytes_per_s = 100'000'000;
  const PlanDiff slower = Diff(plan, slow);
  CHECK(slower.figure(FigureName::kBusiestNic).after == 640);
  CHECK(slower.busiest_nics[1] == slow.nics[slow.sites[5].nics[0]].name);
}

TEST_CASE("a tensor of another shape is re-shaped, and no longer covered as before") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.supers[0].shape[0] += 1;
  const PlanDiff diff = Diff(before, after);
  const TensorChange* change = Find(diff, TensorChangeKind::kReshaped);
  REQUIRE(change != nullptr);
  CHECK(change->before == "f32 [8, 8]");
  CHECK(change->after == "f32 [9, 8]");
  CHECK(change->lost == 1);
}

TEST_CASE("tensors that only one plan has are added or removed") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.supers[0].name.text[0] = "other";
  const PlanDiff diff = Diff(before, after);
  REQUIRE(Find(diff, TensorChangeKind::kAdded) != nullptr);
  CHECK(Find(diff, TensorChangeKind::kAdded)->name == "other");
  const TensorChange* removed = Find(diff, TensorChangeKind::kRemoved);
  REQUIRE(removed != nullptr);
  CHECK(removed->before ==
        "f32 [8, 8], held 2-way on dim 0, 1 copy, 2 ranks, needed 4-way on dim "
        "1, 1 copy, 4 ranks");
  CHECK(removed->lost == 1);
}

TEST_CASE("layers that one plan has more are counted, the others stay equal") {
  const Plan before = testing::ExpertPlan();
  Plan after = before;
  int64_t loop_values = 1;
  for (const int64_t extent : before.supers[0].loop_extent) loop_values *= extent;
  const int64_t per_layer = loop_values / before.supers[0].loop_extent[0];
  after.supers[0].loop_extent[0] += 1;
  const PlanDiff diff = Diff(before, after);
  const TensorChange* added = Find(diff, TensorChangeKind::kAdded);
  REQUIRE(added != nullptr);
  CHECK(added->count == per_layer);
  CHECK(Find(diff, TensorChangeKind::kRemoved) == nullptr);
}

TEST_CASE("the same parts on other ranks are moved, other landing ranks are re-routed") {
  const Plan before = testing::ReplicatedPlan();
  Plan moved = before;
  for (PlanPlace& place : moved.places) {
    if (moved.families[place.family].side == PlanSide::kSource) place.base_bytes += 64;
  }
  CHECK(Find(Diff(before, moved), TensorChangeKind::kSourceMoved) != nullptr);
  CHECK(Find(Diff(before, moved), TensorChangeKind::kDestinationMoved) == nullptr);

  Plan routed = before;
  std::swap(routed.tree_members[0], routed.tree_members[1]);
  const PlanDiff diff = Diff(before, routed);
  REQUIRE(diff.tensors.size() == 1);
  CHECK(diff.tensors[0].kind == TensorChangeKind::kRerouted);
  CHECK(diff.tensors[0].before == "from 0,1 to 2 > 5 > 6");
  CHECK(diff.tensors[0].after == "from 0,1 to 5 > 2 > 6");
}

TEST_CASE("only half as many ranks need a tensor: other copies, re-sharded") {
  const Plan before = testing::ReplicatedPlan();
  Plan after = before;
  for (PlanFamily& family : after.families) {
    if (family.side != PlanSide::kDestination) continue;
    RankList ranks = after.rank_sets[family.rank_set];
    ranks.resize(ranks.size() / 2);
    after.rank_sets.push_back(ranks);
    family.rank_set = static_cast<uint32_t>(after.rank_sets.size() - 1);
  }
  const PlanDiff diff = Diff(before, after);
  const TensorChange* change = Find(diff, TensorChangeKind::kDestinationSharding);
  REQUIRE(change != nullptr);
  CHECK(change->after == "whole, 3 copies, 3 ranks");
  CHECK(change->lost == 0);
  CHECK(change->fewer_copies == 1);
  const GateResult coverage = Judged("coverage", diff);
  CHECK(coverage.passed);
  CHECK(coverage.reason == "every element is still delivered; in fewer copies, of 1 tensor (w)");
  const GateResult copies = Judged("copies", diff);
  CHECK(!copies.passed);
  CHECK(copies.reason == "elements are delivered in fewer copies, of 1 tensor (w)");
  CHECK(Judged("copies", Diff(after, before)).passed);
}

TEST_CASE("a tensor of which only some rows are still needed is no longer covered") {
  const Plan before = testing::ReplicatedPlan();
  Plan after = before;
  NeedOnlyRows({{1, 3}}, &after);
  const PlanDiff diff = Diff(before, after);
  const TensorChange* change = Find(diff, TensorChangeKind::kDestinationSharding);
  REQUIRE(change != nullptr);
  CHECK(change->before == "whole, 6 copies, 6 ranks");
  CHECK(change->after == "6.2 % of the elements, 6 copies, 6 ranks");
  CHECK(change->lost == 1);
  const GateResult coverage = Judged("coverage", diff);
  CHECK(!coverage.passed);
  CHECK(coverage.reason == "elements are delivered to nobody any more, of 1 tensor (w)");
  CHECK(!Judged("copies", diff).passed);
  CHECK(Judged("coverage", Diff(after, before)).passed);
  CHECK(Judged("copies", Diff(after, before)).passed);
}

TEST_CASE("parts that are cut otherwise cover the same, with a gap they do not") {
  const Plan before = testing::ReplicatedPlan();
  Plan after = before;
  NeedOnlyRows({{0, 7}, {7, 32}}, &after);
  CHECK(Diff(before, after).tensors.empty());
  CHECK(!Diff(before, after).Differs(DiffSection::kTables));
  CHECK(Judged("coverage", Diff(before, after)).passed);
  CHECK(Judged("copies", Diff(before, after)).passed);
  Plan moved = after;
  moved.places.back().base_bytes += 64;
  CHECK(Find(Diff(before, moved), TensorChangeKind::kDestinationSharding) == nullptr);
  CHECK(Find(Diff(before, moved), TensorChangeKind::kDestinationMoved) != nullptr);
  CHECK(Judged("coverage", Diff(before, moved)).passed);
  CHECK(Judged("copies", Diff(before, moved)).passed);
  Plan gap = before;
  NeedOnlyRows({{0, 7}, {8, 32}, {0, 7}}, &gap);
  CHECK(!Judged("coverage", Diff(before, gap)).passed);
}

TEST_CASE("parts of a tensor are rounded as other percentages, but never to nothing or all") {
  const Plan before = testing::ReplicatedPlan();
  const std::pair<int64_t, std::string> kParts[] = {
      {1, "3.1 %"}, {16, "50.0 %"}, {21, "65.6 %"}, {31, "96.9 %"}};
  for (const auto& [rows, text] : kParts) {
    Plan after = before;
    NeedOnlyRows({{0, rows}}, &after);
    const PlanDiff diff = Diff(before, after);
    const TensorChange* change = Find(diff, TensorChangeKind::kDestinationSharding);
    REQUIRE(change != nullptr);
    CHECK(change->after == text + " of the elements, 6 copies, 6 ranks");
  }
}

TEST_CASE("templates that are compared as a whole count the tensors that lose something") {
  Plan before = testing::ExpertPlan();
  before.supers[0].loop_extent[1] = int64_t{1} << 50;
  Plan after = before;
  // The last destination place of the template goes away.
  for (size_t p = after.places.size(); p-- > 0;) {
    if (after.places[p].super != 0) continue;
    if (after.families[after.places[p].family].side == PlanSide::kSource) continue;
    after.places.erase(after.places.begin() + static_cast<std::ptrdiff_t>(p));
    break;
  }
  const PlanDiff diff = Diff(before, after);
  int64_t lost = 0;
  for (const TensorChange& change : diff.tensors) lost += change.lost;
  CHECK(lost > 0);
  CHECK(lost <= 8);
  CHECK(!Judged("coverage", diff).passed);
}

TEST_CASE("padding that is kept instead of set to zero is told, of params") {
  Plan zero = testing::ReplicatedPlan();
  for (uint32_t f = 0; f < zero.families.size(); ++f) {
    if (zero.families[f].side == PlanSide::kDestination)
      zero.fills.push_back({f, PlanFillRule::kZero, 0, 0, 0});
  }
  REQUIRE(!zero.fills.empty());
  Plan keep = zero;
  for (PlanFill& fill : keep.fills) fill.rule = PlanFillRule::kKeep;
  const PlanDiff diff = Diff(zero, keep);
  REQUIRE(diff.tensors.size() == 1);
  CHECK(diff.tensors[0].kind == TensorChangeKind::kPadding);
  CHECK(diff.tensors[0].before == "zero");
  CHECK(diff.tensors[0].after == "kept");
  CHECK(Judged("coverage", diff).passed);
  const TensorChange* added =
      Find(Diff(testing::ReplicatedPlan(), keep), TensorChangeKind::kPadding);
  REQUIRE(added != nullptr);
  CHECK(added->before == "none");
  CHECK(added->after == "kept");
}

TEST_CASE("what no section of its own tells is told by the tables") {
  const Plan before = testing::ReplicatedPlan();
  Plan after = before;
  ++after.injects.back().round;
  CHECK(OnlyTablesDiffer(Diff(before, after)));
}

TEST_CASE("other numbers of streams and trees are no difference, and are told") {
  const Plan before = testing::ColocatedPlan();
  REQUIRE(before.trees.size() >= 2);
  Plan after = before;
  std::swap(after.trees[0], after.trees[1]);
  for (PlanInject& inject : after.injects) {
    if (inject.tree < 2) inject.tree = 1 - inject.tree;
  }
  const PlanDiff diff = Diff(before, after);
  CHECK(diff.equal());
  CHECK(diff.renumbered);
  CHECK(!Diff(before, before).renumbered);
  DiffReport report;
  report.names = {"a", "b"};
  report.sections = {DiffSection::kFigures};
  report.diff = diff;
  std::ostringstream out;
  PrintDiff(report, out);
  CHECK(out.str().find("streams and trees have other numbers") != std::string::npos);
}

TEST_CASE("plans of different worlds are compared by name") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.domains.push_back({"nvl-new", 1, 1});
  const PlanDiff diff = Diff(before, after);
  REQUIRE(diff.domains.size() == 1);
  CHECK(diff.domains[0].name == "nvl-new");
  CHECK(!diff.domains[0].before);
  CHECK(diff.domains[0].after);
}

TEST_CASE("of very many domains that are alike one is shown, with their number") {
  const Plan before = testing::ToyPlan();
  for (const int added : {16, 17}) {
    CAPTURE(added);
    Plan after = before;
    for (int i = 0; i < added; ++i) after.domains.push_back({"new" + std::to_string(10 + i), 1, 1});
    const PlanDiff diff = Diff(before, after);
    CHECK(diff.domains.size() == static_cast<size_t>(added));
    const DiffTable table = TableOf(DiffSection::kDomains, diff);
    REQUIRE(table.rows.size() == (added == 16 ? 16 : 1));
    CHECK(table.rows[0][0] == (added == 16 ? "new10" : "new10 and 16 alike"));
  }
}

TEST_CASE("gates compare exactly") {
  CHECK(Passes("staging>+5%", 1000, 1050));
  CHECK(!Passes("staging>+5%", 1000, 1051));
  CHECK(Passes("staging > +0.5%", 1000, 1005));
  CHECK(!Passes("staging>+0.499%", 1000, 1005));
  CHECK(Passes("staging>+64MiB", 0, 67'108'864));
  CHECK(!Passes("staging>+64MiB", 0, 67'108'865));
  CHECK(Passes("staging>2kB", 1, 2000));
  CHECK(!Passes("staging>2kB", 1, 2001));
  CHECK(Passes("staging<-10%", 1000, 900));
  CHECK(!Passes("staging<-10%", 1000, 899));
  CHECK(Passes("staging>+5%", 0, 0));
  CHECK(!Passes("staging>+5%", 0, 1));
  CHECK(Passes("staging>-10%", 1000, 900));
  CHECK(!Passes("staging>-10%", 1000, 901));
}

TEST_CASE("gates for time, counts, coverage and layouts") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.header.totals.predicted_ns = before.header.totals.predicted_ns + 2000;
  after.header.infer_digest[3] ^= 1;
  const StatusOr<std::vector<Gate>> layouts = ParseGates("layouts");
  REQUIRE(layouts.ok());
  CHECK(JudgeGates(*layouts, Diff(before, after)).at(0).passed);  // only written otherwise
  for (PlanPlace& place : after.places) {
    if (after.families[place.family].side == PlanSide::kDestination) place.base_bytes += 4;
  }
  after.header.totals.messages += 1;
  const StatusOr<std::vector<Gate>> gates =
      ParseGates("time>+2us,time>+1us, messages>+0,messages>+1,coverage,layouts");
  REQUIRE(gates.ok());
  std::vector<bool> passed;
  for (const GateResult& result : JudgeGates(*gates, Diff(before, after))) {
    passed.push_back(result.passed);
  }
  CHECK(passed == std::vector<bool>{true, false, false, true, true, false});
  after.supers[0].dtype = DType::kU8;
  CHECK(!JudgeGates(*gates, Diff(before, after)).at(4).passed);
}

TEST_CASE("malformed gates are refused") {
  for (const char* text : {"",
                           "time",
                           "time>",
                           "time>5",
                           "time>+5",
                           "time>5%",
                           "tim>+5%",
                           "staging>1.5.5GB",
                           "time>+%",
                           "time>+1.2345%",
                           "time>+5%,",
                           "coverage>1",
                           "messages>+5B",
                           "time>+99999999999999999999s",
                           "staging>+-5%",
                           "time=+5%",
                           "time>+.5us",
                           "time>+5.us",
                           "time>+5 u s",
                           "messages>1.5",
                           "staging>0.3B",
                           "time>25.6001us"}) {
    CAPTURE(text);
    CHECK(!ParseGates(text).ok());
  }
}

TEST_CASE("what is wrong with a limit is told apart") {
  const std::pair<std::string, std::string> kErrors[] = {
      {"time>+x", "has no limit such as +5%, +20us or 4s"},
      {"time>+0", "needs a unit behind '0': ns, us, ms or s, or, after a sign, %"},
      {"time>5%", "has a percentage without a sign: '+5%' or '-5%' of the first plan"},
      {"time>+5.1234%", "has more than three decimals of a percent: '5.1234'"},
      {"time>+2000000000%", "has a limit over 1,000,000,000 %: '2000000000'"},
      {"time>+200000s", "has a limit over 10,000 s: '200000s'"},
      {"time>+99999999999999999999999999999s",
       "has a limit over 10,000 s: '99999999999999999999999999999s'"},
      {"time>1.5ns", "has a limit that is no whole number of nanoseconds: '1.5ns'"},
      {"time>5min", "has no unit 'min', but ns, us, ms or s, or, after a sign, %"},
      {"staging>64mib",
       "has no unit 'mib', but B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, or, after a sign, %"},
      {"staging>12345678901234567890123456789B",
       "has a limit over 2^62 bytes: '12345678901234567890123456789B'"},
      {"staging>4611686018427387904.5B", "has a limit over 2^62 bytes: '4611686018427387904.5B'"},
      {"staging>5000000000GiB", "has a limit over 2^62 bytes: '5000000000GiB'"},
      {"staging>0.0000000000000000000001kB", "has too many decimals: '0.0000000000000000000001'"},
      {"messages>+5B", "has a count with a unit: '5B'"},
      {"messages>1.5", "has a limit that is no whole number of things that are counted: '1.5'"}};
  for (const auto& error : kErrors) {
    CAPTURE(error.first);
    const StatusOr<std::vector<Gate>> gates = ParseGates(error.first);
    REQUIRE(!gates.ok());
    CHECK(gates.status().message() == "gate '" + error.first + "' " + error.second);
  }
}

TEST_CASE("limits with decimals are exact") {
  CHECK(Passes("staging>0.5KiB", 0, 512));
  CHECK(!Passes("staging>0.5KiB", 0, 513));
  CHECK(Passes("staging>+1.5 kB", 10, 1510));
  CHECK(!Passes("staging>+1.5 kB", 10, 1511));
  CHECK(Passes("staging>+5 %", 1000, 1050));
  CHECK(Passes("staging>1000", 0, 1000));
  CHECK(Passes("staging>1.5TB", 0, 1'500'000'000'000));
  CHECK(!Passes("staging>1.5TB", 0, 1'500'000'000'001));
  CHECK(Passes("staging>+2TiB", 1, int64_t{2} * (int64_t{1} << 40) + 1));
  CHECK(!Passes("staging>+2TiB", 1, int64_t{2} * (int64_t{1} << 40) + 2));
  CHECK(!Passes("staging>4611686018427387904B", 0, INT64_MAX));
}

TEST_CASE("spaces may stand around names, signs, numbers and units") {
  for (const char* gate :
       {"staging>+5%", "staging > + 5 %", "\tstaging\t>\t+\t5\t%\t", "staging\n>\r\n+ 5%"}) {
    CAPTURE(gate);
    CHECK(Passes(gate, 1000, 1050));
    CHECK(!Passes(gate, 1000, 1051));
  }
  CHECK(Passes("staging > + 64 MiB", 0, 67'108'864));
  CHECK(!Passes("staging\t>\t1", 0, 2));
  CHECK(!Passes("staging < - 10 %", 1000, 899));
  CHECK(!ParseGates("staging > 1 0").ok());
  CHECK(!ParseGates("staging > + - 5 %").ok());
  CHECK(!ParseGates("sta ging > 5").ok());
}

TEST_CASE("a gate says exactly what has decided") {
  Plan before = testing::ToyPlan();
  Plan after = before;
  before.header.totals.predicted_ns = 25'590;
  after.header.totals.predicted_ns = 25'600;
  const PlanDiff diff = Diff(before, after);
  CHECK(Judged("time>+0.039%", diff).reason ==
        "time 25,590 ns to 25,600 ns, +0.039 %; at most 25,599 ns would pass");
  CHECK(Judged("time>+1%", diff).reason == "time 25,590 ns to 25,600 ns, +0.039 %");
  CHECK(Judged("time<+1%", diff).reason ==
        "time 25,590 ns to 25,600 ns, +0.039 %; at least 25,846 ns would pass");
  CHECK(Judged("time>1ns", Diff(before, before)).reason ==
        "time 25,590 ns to 25,590 ns; at most 1 ns would pass");
  CHECK(Judged("time>+0%", Diff(before, before)).reason == "time 25.6 us to 25.6 us");
  CHECK(Judged("time>-200%", diff).reason ==
        "time 25,590 ns to 25,600 ns, +0.039 %; nothing would pass");
  CHECK(Judged("time>-1s", diff).reason ==
        "time 25,590 ns to 25,600 ns, +0.039 %; nothing would pass");
  CHECK(Judged("time>-100%", diff).reason ==
        "time 25,590 ns to 25,600 ns, +0.039 %; at most 0 ns would pass");
}

TEST_CASE("Markdown of hostile names has no markup of theirs") {
  const Plan before = testing::ToyPlan();
  Plan after = before;
  after.supers[0].name.text[0] = "<script>|`@all`\n# x";
  after.domains.push_back({"<img>|", 1, 1});
  DiffReport report;
  report.names = {"a|b", "<b>"};
  report.sections = {DiffSection::kDomains, DiffSection::kTensors};
  report.diff = Diff(before, after);
  std::ostringstream out;
  report.style.format = OutputFormat::kMarkdown;
  PrintDiff(report, out);
  const std::string text = out.str();
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("<img") == std::string::npos);
  CHECK(text.find('`') == std::string::npos);
  CHECK(text.find('@') == std::string::npos);
  CHECK(text.find("\n# x") == std::string::npos);
  CHECK(text.find("&#60;script&#62;&#124;") != std::string::npos);
}

}  // namespace
}  // namespace reshard
