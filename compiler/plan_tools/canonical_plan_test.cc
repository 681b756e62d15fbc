#include "compiler/plan_tools/canonical_plan.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "compiler/plan_tools/plan_rows.h"
#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

std::string TextOf(const Plan& plan) {
  std::ostringstream text;
  PrintCanonical(Canonicalize(plan), text);
  return text.str();
}

// Reverses `rows` and returns where each row went.
template <class Row>
std::vector<uint32_t> Reverse(std::vector<Row>* rows) {
  std::reverse(rows->begin(), rows->end());
  std::vector<uint32_t> moved(rows->size());
  for (uint32_t i = 0; i < moved.size(); ++i)
    moved[i] = static_cast<uint32_t>(moved.size() - 1 - i);
  return moved;
}

// The same plan with the rows of every table that has no order of its own in reverse.
Plan Renumbered(Plan plan) {
  const std::vector<uint32_t> sets = Reverse(&plan.rank_sets);
  const std::vector<uint32_t> supers = Reverse(&plan.supers);
  const std::vector<uint32_t> families = Reverse(&plan.families);
  const std::vector<uint32_t> nics = Reverse(&plan.nics);
  const std::vector<uint32_t> domains = Reverse(&plan.domains);
  const std::vector<uint32_t> groups = Reverse(&plan.groups);
  const std::vector<uint32_t> intervals = Reverse(&plan.intervals);
  const std::vector<uint32_t> classes = Reverse(&plan.classes);
  const std::vector<uint32_t> streams = Reverse(&plan.streams);
  const std::vector<uint32_t> trees = Reverse(&plan.trees);
  Reverse(&plan.places);
  Reverse(&plan.fills);
  for (PlanFamily& family : plan.families) family.rank_set = sets[family.rank_set];
  for (PlanSite& site : plan.sites) {
    site.domain = domains[site.domain];
    if (site.group != kNoId) site.group = groups[site.group];
    for (uint32_t& nic : site.nics) nic = nics[nic];
  }
  for (PlanCut& cut : plan.cuts) {
    const CutMembers what = FactsOf(cut.kind).members;
    for (uint32_t& member : cut.members) {
      if (what == CutMembers::kDomains) member = domains[member];
      if (what == CutMembers::kGroups) member = groups[member];
    }
  }
  for (PlanPlace& place : plan.places) {
    place.super = supers[place.super];
    place.family = families[place.family];
  }
  for (PlanFill& fill : plan.fills) fill.family = families[fill.family];
  for (uint32_t& interval : plan.cell_dims) interval = intervals[interval];
  for (PlanCell& cell : plan.cells) cell.super = supers[cell.super];
  for (PlanClass& cls : plan.classes) {
    cls.holders = sets[cls.holders];
    cls.needers = sets[cls.needers];
  }
  for (PlanPiece& piece : plan.pieces) piece.cls = classes[piece.cls];
  for (PlanTree& tree : plan.trees) tree.stream = streams[tree.stream];
  for (PlanInject& inject : plan.injects) inject.tree = trees[inject.tree];
  return plan;
}

// One change to each field of each table that says something; named for failures.
std::vector<std::pair<const char*, std::function<void(Plan*)>>> Changes() {
  return {
#define CHANGE(expression)                    \
  {                                           \
#expression, [](Plan * p) { expression; } \
  }
      CHANGE(++p->header.version),
      CHANGE(++p->header.train_digest[31]),
      CHANGE(++p->header.infer_digest[0]),
      CHANGE(++p->header.topo_digest[7]),
      CHANGE(p->header.options.emplace_back("x", "1")),
      CHANGE(++p->header.totals.source_bytes),
      CHANGE(++p->header.totals.destination_bytes),
      CHANGE(++p->header.totals.network_bytes),
      CHANGE(++p->header.totals.scaleup_bytes),
      CHANGE(++p->header.totals.local_bytes),
      CHANGE(++p->header.totals.messages),
      CHANGE(++p->header.totals.max_staging_bytes),
      CHANGE(++p->header.totals.rounds),
      CHANGE(++p->header.totals.predicted_ns),
      CHANGE(++p->header.totals.bound_ns),
      CHANGE(p->rank_sets[p->families[0].rank_set].push_back(99)),
      CHANGE(p->supers[0].name.text[0] += "x"),
      CHANGE(p->supers[0].name.holes.at(0).base += 1),
      CHANGE(p->supers[0].name.holes.at(0).coef[0] += 1),
      CHANGE(p->supers[0].dtype = DType::kU8),
      CHANGE(++p->supers[0].loop_begin.at(0)),
      CHANGE(++p->supers[0].loop_extent.at(0)),
      CHANGE(++p->supers[0].shape.at(0)),
      CHANGE(++p->supers[0].dims.at(0).axis),
      CHANGE(++p->supers[0].dims.at(0).weight),
      CHANGE(p->families[0].side = PlanSide::kDestination),
      CHANGE(p->families[0].name.text[0] += "x"),
      CHANGE(p->families[0].shares.push_back(p->families[0].name)),
      CHANGE(++p->families[0].loop_begin.at(0)),
      CHANGE(++p->families[0].loop_extent.at(0)),
      CHANGE(++p->families[0].shape.at(0)),
      CHANGE(p->families[0].dtype = DType::kU8),
      CHANGE(++p->families[0].bytes),
      CHANGE(p->families[0].external = !p->families[0].external),
      CHANGE(p->nics[0].name += "x"),
      CHANGE(++p->nics[0].bytes_per_s),
      CHANGE(++p->nics[0].rail),
      CHANGE(p->domains[0].name += "x"),
      CHANGE(++p->domains[0].bytes_per_s),
      CHANGE(++p->domains[0].latency_ns),
      CHANGE(p->groups.push_back({"g", 1})),
      CHANGE(++p->sites[0].rank),
      CHANGE(p->sites[0].node += "x"),
      CHANGE(++p->sites[0].gpu),
      CHANGE(p->sites[0].domain = p->sites.back().domain),
      CHANGE(p->sites[0].nics.clear()),
      CHANGE(++p->sites[0].host_bytes_per_s),
      CHANGE(++p->sites[0].copy_bytes_per_s),
      CHANGE(++p->sites[0].memory_bytes),
      CHANGE(p->fabric.rails = !p->fabric.rails),
      CHANGE(++p->fabric.bytes_per_s),
      CHANGE(++p->fabric.latency_ns),
      CHANGE(++p->fabric.cross_rail_latency_ns),
      CHANGE(++p->fabric.cross_group_latency_ns),
      CHANGE(p->cuts.at(0).kind = p->cuts[0].kind == PlanCutKind::kIngress ? PlanCutKind::kInjection
                                                                           : PlanCutKind::kIngress),
      CHANGE(p->cuts.at(0).members.pop_back()),
      CHANGE(++p->cuts.at(0).bytes),
      CHANGE(++p->cuts.at(0).bytes_per_s),
      CHANGE(++p->places[0].base_bytes),
      CHANGE(++p->places[0].base_instance),
      CHANGE(++p->place_dims[0].begin),
      CHANGE(--p->place_dims[0].extent),
      CHANGE(++p->place_dims[0].stride_bytes),
      CHANGE(++p->place_dims[0].instance_stride),
      CHANGE(p->fills.at(0).rule = p->fills[0].rule == PlanFillRule::kZero ? PlanFillRule::kKeep
                                                                           : PlanFillRule::kZero),
      CHANGE(++p->fills.at(0).base_bytes),
      CHANGE(++p->fill_dims.at(0).extent),
      CHANGE(++p->fill_dims.at(0).stride_bytes),
      CHANGE(++p->intervals[p->cell_dims[0]].begin),
      CHANGE(--p->intervals[p->cell_dims[0]].extent),
      CHANGE(++p->classes[0].bytes),
      CHANGE(p->classes[0].holders = p->classes[0].needers),
      CHANGE(p->classes[0].needers = p->classes[0].holders),
      CHANGE(--p->classes[0].cell_count),
      CHANGE(++p->pieces[0].begin),
      CHANGE(++p->pieces[0].extent),
      CHANGE(++p->streams[0].bytes),
      CHANGE(p->streams[0].local = !p->streams[0].local),
      CHANGE(++p->tree_members[0]),
      CHANGE(p->trees[0].stream = p->trees.back().stream),
      CHANGE(++p->injects[0].round),
      CHANGE(++p->injects[0].source),
      CHANGE(++p->injects[0].begin),
      CHANGE(++p->injects[0].extent),
      CHANGE(++p->ranks[0].rank),
      CHANGE(++p->ranks[0].recv_slot_bytes),
      CHANGE(++p->ranks[0].pack_slot_bytes),
#undef CHANGE
  };
}

TEST_CASE("the text does not depend on the numbers of rows") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    CHECK(TextOf(Renumbered(named.plan)) == TextOf(named.plan));
  }
}

TEST_CASE("every field is in the text") {
  const Plan plan = testing::ExpertPlan();
  const std::string text = TextOf(plan);
  for (const auto& change : Changes()) {
    CAPTURE(std::string(change.first));
    Plan changed = plan;
    change.second(&changed);
    CHECK(TextOf(changed) != text);
  }
}

TEST_CASE("every field is in the rows that plans are compared by") {
  const Plan plan = testing::ExpertPlan();
  const auto world = [](const Plan& of) {
    std::ostringstream text;
    PrintCanonical(CanonicalizeWorld(of), text);
    return text.str();
  };
  for (const auto& change : Changes()) {
    CAPTURE(std::string(change.first));
    Plan changed = plan;
    change.second(&changed);
    CHECK((world(changed) != world(plan) || CompareRows(plan, changed).changed()));
  }
}

TEST_CASE("rows do not depend on their numbers") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    CHECK(!CompareRows(Renumbered(named.plan), named.plan).changed());
  }
}

TEST_CASE("a name cannot make a line of its own") {
  Plan plan = testing::ToyPlan();
  const std::string text = TextOf(plan);
  plan.supers[0].name.text[0] = "a\n# ranks\n";
  plan.nics[0].name = "n\nm";
  plan.sites[0].node = "h\ni";
  const std::string with_newlines = TextOf(plan);
  CHECK(std::count(with_newlines.begin(), with_newlines.end(), '\n') ==
        std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("one row more changes few lines") {
  const Plan plan = testing::ReplicatedPlan();
  Plan changed = plan;
  changed.nics.insert(changed.nics.begin(), PlanNic{"added", 1, 0});
  for (PlanSite& site : changed.sites) {
    for (uint32_t& nic : site.nics) ++nic;
  }
  const std::string before = TextOf(plan);
  const std::string after = TextOf(changed);
  CHECK(after.size() == before.size() + std::string("nic added bytes_per_s 1 rail 0\n").size());
}

}  // namespace
}  // namespace reshard
