#include "compiler/plan_tools/plan_diff.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "compiler/plan_tools/canonical_plan.h"
#include "compiler/plan_tools/loads.h"
#include "compiler/plan_tools/padding_diff.h"
#include "compiler/plan_tools/summary.h"
#include "runtime/base/sha256.h"
#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

// One plan with what is derived from it.
struct Side {
  explicit Side(const LoadedPlan& loaded)
      : plan(loaded.plan), loads(ComputeLoads(plan)), summary(Summarize(plan)) {}
  const Plan& plan;
  PlanLoads loads;
  PlanSummary summary;
};

// The time that `bytes` take at that rate, rounded down; 0 without a rate.
int64_t Nanoseconds(int64_t bytes, int64_t bytes_per_s) {
  if (bytes_per_s <= 0) return 0;
  return static_cast<int64_t>(static_cast<Wide>(bytes) * 1'000'000'000 / bytes_per_s);
}

// The NIC whose bytes take longest, the first of equal ones; its time.
std::pair<std::string, int64_t> BusiestNic(const Side& side) {
  std::pair<std::string, int64_t> busiest{"", 0};
  for (size_t n = 0; n < side.plan.nics.size(); ++n) {
    const PortLoads& load = side.loads.nics[n];
    const int64_t time =
        Nanoseconds(std::max(load.send_bytes, load.receive_bytes), side.plan.nics[n].bytes_per_s);
    if (time > busiest.second) busiest = {side.plan.nics[n].name, time};
  }
  return busiest;
}

int64_t FigureOf(const Side& side, FigureName name) {
  const PlanTotals& totals = side.plan.header.totals;
  switch (name) {
    case FigureName::kTime:
      return totals.predicted_ns;
    case FigureName::kBound:
      return totals.bound_ns;
    case FigureName::kNetwork:
      return totals.network_bytes;
    case FigureName::kBusiestNic:
      return BusiestNic(side).second;
    case FigureName::kStaging:
      return totals.max_staging_bytes;
    case FigureName::kScaleup:
      return totals.scaleup_bytes;
    case FigureName::kLocal:
      return totals.local_bytes;
    case FigureName::kMessages:
      return totals.messages;
    case FigureName::kRounds:
      return totals.rounds;
    case FigureName::kTensors:
      return side.summary.tensors;
    case FigureName::kSourceRanks:
      return side.summary.source.ranks;
    case FigureName::kSourceBytes:
      return totals.source_bytes;
    case FigureName::kDestinationRanks:
      return side.summary.destination.ranks;
    case FigureName::kDestinationBytes:
      return totals.destination_bytes;
  }
  return 0;
}

using PortLoadsByName = std::map<std::string, PortChange::Load>;

PortLoadsByName DomainsByName(const Side& side) {
  PortLoadsByName found;
  for (size_t d = 0; d < side.plan.domains.size(); ++d) {
    const DomainLoads& loads = side.loads.domains[d];
    found[side.plan.domains[d].name] = {loads.network.send_bytes, loads.network.receive_bytes,
                                        loads.needed_bytes};
  }
  return found;
}

PortLoadsByName NicsByName(const Side& side) {
  PortLoadsByName found;
  for (size_t n = 0; n < side.plan.nics.size(); ++n) {
    found[side.plan.nics[n].name] = {side.loads.nics[n].send_bytes,
                                     side.loads.nics[n].receive_bytes, 0};
  }
  return found;
}

// Names that are in both with equal values are left out.
template <class Change, class Value>
std::vector<Change> Unequal(const std::map<std::string, Value>& before,
                            const std::map<std::string, Value>& after) {
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : after) names.insert(name);
  std::vector<Change> changes;
  for (const std::string& name : names) {
    const auto had = before.find(name);
    const auto has = after.find(name);
    Change change;
    change.name = name;
    if (had != before.end()) change.before = had->second;
    if (has != after.end()) change.after = has->second;
    if (change.before != change.after) changes.push_back(std::move(change));
  }
  return changes;
}

std::map<std::string, std::string> OptionsOf(const Plan& plan) {
  return {plan.header.options.begin(), plan.header.options.end()};
}

// The rows of the tables that do not tell of tensors and what moves, without the inputs' digests.
CanonicalPlan WorldOf(const Plan& plan) {
  CanonicalPlan world = CanonicalizeWorld(plan);
  for (CanonicalSection& section : world.sections) {
    std::erase_if(section.items, [&](const std::string& item) {
      return section.name == "header" && (item.starts_with("train ") ||
                                          item.starts_with("infer ") || item.starts_with("topo "));
    });
    std::sort(section.items.begin(), section.items.end());
  }
  return world;
}

// Sets diff->tables, diff->tensors and what has become of the inputs.
void DiffTables(const Plan& before, const Plan& after, PlanDiff* diff) {
  const CanonicalPlan a = WorldOf(before);
  const CanonicalPlan b = WorldOf(after);
  std::vector<TableChange> world;
  for (size_t s = 0; s < a.sections.size(); ++s) {
    world.push_back(TableChange{a.sections[s].name});
    CountUnequal(a.sections[s].items, b.sections[s].items, &world.back());
  }
  const PlanRowChanges rows = CompareRows(before, after);
  diff->renumbered = rows.renumbered;
  if (rows.changed()) diff->tensors = DiffTensors(before, after);
  if (rows.destination_params.changed()) {
    std::vector<TensorChange> padding = DiffPadding(before, after);
    std::move(padding.begin(), padding.end(), std::back_inserter(diff->tensors));
  }
  const auto changed = [&](std::string_view name) {
    return std::any_of(world.begin(), world.end(), [&](const TableChange& change) {
      return change.name == name && change.changed();
    });
  };
  InputChange& train = diff->inputs[0];
  InputChange& infer = diff->inputs[1];
  InputChange& topo = diff->inputs[2];
  train.rewritten = train.changed() && !rows.tensors.changed() && !rows.source_params.changed();
  infer.rewritten =
      infer.changed() && !rows.tensors.changed() && !rows.destination_params.changed();
  topo.rewritten = topo.changed() && !changed("topology") && !changed("sites");
  for (const InputChange& input : diff->inputs) {
    if (!input.changed()) continue;
    ++world[0].only_before;
    ++world[0].only_after;
  }
  const auto last = std::prev(world.end());
  std::vector<TableChange> all(world.begin(), last);
  all.insert(all.end(), {rows.tensors, rows.source_params, rows.destination_params, rows.classes,
                         rows.streams, rows.trees, *last});
  std::copy_if(all.begin(), all.end(), std::back_inserter(diff->tables),
               [](const TableChange& change) { return change.changed(); });
}

}  // namespace

std::string_view DiffSectionText(DiffSection section) {
  switch (section) {
#define RESHARD_DIFF_SECTION(name, text) \
  case DiffSection::name:                \
    return text;
#include "compiler/plan_tools/diff_sections.def"
#undef RESHARD_DIFF_SECTION
  }
  return "";
}

bool PlanDiff::Differs(DiffSection section) const {
  const auto changed = [](const auto& entry) { return entry.changed(); };
  switch (section) {
    case DiffSection::kFigures:
      return std::any_of(figures.begin(), figures.end(), changed);
    case DiffSection::kLayouts:
      return std::any_of(inputs.begin(), inputs.end(), changed);
    case DiffSection::kDomains:
      return !domains.empty();
    case DiffSection::kNics:
      return !nics.empty();
    case DiffSection::kTensors:
      return !tensors.empty();
    case DiffSection::kOptions:
      return !options.empty();
    case DiffSection::kTables:
      return !tables.empty();
  }
  return true;
}

PlanDiff DiffPlans(const LoadedPlan& before, const LoadedPlan& after) {
  const Side a(before);
  const Side b(after);
  PlanDiff diff;
  diff.figures = {
#define RESHARD_FIGURE(name, text, unit, title) \
  Figure{FigureName::name,                      \
         text,                                  \
         title,                                 \
         FigureUnit::unit,                      \
         FigureOf(a, FigureName::name),         \
         FigureOf(b, FigureName::name)},
#include "compiler/plan_tools/diff_figures.def"
#undef RESHARD_FIGURE
  };
  diff.binding_cuts = {a.summary.binding_cut, b.summary.binding_cut};
  diff.busiest_nics = {BusiestNic(a).first, BusiestNic(b).first};
  diff.digests = {ToHex(before.root_digest), ToHex(after.root_digest)};
  const PlanHeader& had = a.plan.header;
  const PlanHeader& has = b.plan.header;
  diff.inputs = {{"train", ToHex(had.train_digest), ToHex(has.train_digest)},
                 {"infer", ToHex(had.infer_digest), ToHex(has.infer_digest)},
                 {"topo", ToHex(had.topo_digest), ToHex(has.topo_digest)}};
  if (before.root_digest == after.root_digest) return diff;
  diff.domains = Unequal<PortChange>(DomainsByName(a), DomainsByName(b));
  diff.nics = Unequal<PortChange>(NicsByName(a), NicsByName(b));
  diff.domain_count = static_cast<int64_t>(std::max(a.plan.domains.size(), b.plan.domains.size()));
  diff.nic_count = static_cast<int64_t>(std::max(a.plan.nics.size(), b.plan.nics.size()));
  diff.options = Unequal<OptionChange>(OptionsOf(a.plan), OptionsOf(b.plan));
  DiffTables(a.plan, b.plan, &diff);
  return diff;
}

}  // namespace reshard
