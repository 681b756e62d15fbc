#include "runtime/plan/verify_cells.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"
#include "runtime/plan/box_cover.h"
#include "runtime/plan/box_tree.h"
#include "runtime/plan/verify_facts.h"

namespace reshard {
namespace {

// Begin and end per dim; a super-tensor without dims is one element in a dim of its own.
using Box = std::vector<int64_t>;

size_t BoxDims(const PlanSuper& super) { return std::max<size_t>(super.dims.size(), 1); }

void AppendCellBox(const Plan& plan, const PlanCell& cell, Box* out) {
  const size_t dims = plan.supers[cell.super].dims.size();
  for (size_t d = 0; d < dims; ++d) {
    const PlanInterval& interval = plan.intervals[plan.cell_dims[cell.first_dim + d]];
    out->push_back(interval.begin);
    out->push_back(interval.begin + interval.extent);
  }
  if (dims == 0) out->insert(out->end(), {0, 1});
}

Box PlaceBox(const Plan& plan, const PlanPlace& place) {
  const size_t dims = plan.supers[place.super].dims.size();
  Box box;
  for (size_t d = 0; d < dims; ++d) {
    const PlanDimRange& range = plan.place_dims[place.first_dim + d];
    box.push_back(range.begin);
    box.push_back(range.begin + range.extent);
  }
  if (dims == 0) box = {0, 1};
  return box;
}

bool Inside(const Box& outer, const int64_t* inner) {
  for (size_t n = 0; n < outer.size(); n += 2) {
    if (inner[n] < outer[n] || inner[n + 1] > outer[n + 1]) return false;
  }
  return true;
}

// Cells of one super-tensor in a tree; `ids` are their numbers in the plan.
struct CellTree {
  std::vector<uint32_t> ids;
  std::optional<BoxTree> tree;
};

class CellChecker {
 public:
  CellChecker(const Plan& plan, VerifyLog* log)
      : plan_(plan), log_(*log), class_of_(plan.cells.size(), 0), trees_(plan.supers.size()) {
    for (uint32_t c = 0; c < plan.classes.size(); ++c) {
      const PlanClass& cls = plan.classes[c];
      std::fill_n(class_of_.begin() + cls.first_cell, cls.cell_count, c);
    }
  }

  void CheckPlan();
  void CheckRank(uint32_t rank);

 private:
  // A rank set of places that contain a cell.
  struct Stored {
    uint32_t cell = 0;
    uint32_t rank_set = 0;
    auto operator<=>(const Stored&) const = default;
  };

  void CheckClassBytes();
  void BuildTrees(const std::vector<bool>& wanted_cells);
  void FindCells(const PlanPlace& place, const Box& box, std::vector<uint32_t>* found);
  void CheckTiling(uint32_t place, const Box& box, const std::vector<uint32_t>& found);
  void CheckPlace(uint32_t place);
  void CheckStored(PlanSide side, std::vector<Stored> stored);
  void CheckRankDestinations(uint32_t rank);
  void CheckRankSources(uint32_t rank);

  const int64_t* CellBox(const PlanPlace& place, uint32_t found) const {
    return trees_[place.super].tree->box(found);
  }
  uint32_t CellId(const PlanPlace& place, uint32_t found) const {
    return trees_[place.super].ids[found];
  }
  std::string Cell(uint32_t cell) const {
    return "cell " + std::to_string(cell) + " of class " + std::to_string(class_of_[cell]);
  }
  std::string PlaceText(uint32_t place) const {
    return "place " + std::to_string(place) + " of " +
           DescribeFamily(plan_.families[plan_.places[place].family], plan_);
  }

  const Plan& plan_;
  VerifyLog& log_;
  std::vector<uint32_t> class_of_;  // per cell
  std::vector<CellTree> trees_;     // per super-tensor
  std::vector<Stored> targets_, origins_;
};

void CellChecker::CheckClassBytes() {
  for (size_t c = 0; c < plan_.classes.size() && log_.CanGoOn(); ++c) {
    const PlanClass& cls = plan_.classes[c];
    std::optional<int64_t> bytes = 0;
    for (uint32_t i = cls.first_cell; i < cls.first_cell + cls.cell_count; ++i) {
      const PlanCell& cell = plan_.cells[i];
      const PlanSuper& super = plan_.supers[cell.super];
      if (!log_.Charge(super.dims.size() + 1)) return;
      std::optional<int64_t> cell_bytes = DTypeBytes(super.dtype);
      for (size_t d = 0; d < super.dims.size(); ++d) {
        const int64_t extent = plan_.intervals[plan_.cell_dims[cell.first_dim + d]].extent;
        if (cell_bytes) cell_bytes = CheckedMul(*cell_bytes, extent);
      }
      bytes = bytes && cell_bytes ? CheckedAdd(*bytes, *cell_bytes) : std::nullopt;
    }
    if (bytes != cls.bytes) {
      log_.Add(VerifyRule::kClassBytes, "class " + std::to_string(c),
               "has " + std::to_string(cls.bytes) + " bytes, its cells have " +
                   (bytes ? std::to_string(*bytes) : "more than 2^63"));
    }
  }
}

void CellChecker::BuildTrees(const std::vector<bool>& wanted_cells) {
  std::vector<Box> boxes(plan_.supers.size());
  for (uint32_t i = 0; i < plan_.cells.size(); ++i) {
    if (!wanted_cells[i]) continue;
    const uint32_t super = plan_.cells[i].super;
    trees_[super].ids.push_back(i);
    AppendCellBox(plan_, plan_.cells[i], &boxes[super]);
  }
  for (size_t s = 0; s < trees_.size(); ++s) {
    const size_t dims = BoxDims(plan_.supers[s]);
    // Sorting once per level.
    if (!log_.Charge(boxes[s].size() * 8)) return;
    trees_[s].tree.emplace(dims, std::move(boxes[s]));
  }
}

void CellChecker::FindCells(const PlanPlace& place, const Box& box, std::vector<uint32_t>* found) {
  found->clear();
  const uint64_t looked_at = trees_[place.super].tree->FindOverlapping(box.data(), found);
  // What is found is remembered, so that the budget bounds memory as well.
  static_cast<void>(log_.Charge(looked_at * box.size() + 64 * found->size()));
}

// The cells found for a destination place, all inside it, are it.
void CellChecker::CheckTiling(uint32_t place, const Box& box, const std::vector<uint32_t>& found) {
  const PlanPlace& p = plan_.places[place];
  std::vector<const int64_t*> parts;
  for (const uint32_t i : found) parts.push_back(CellBox(p, i));
  const BoxCoverResult result = CheckBoxCover(
      box.size() / 2, box.data(), parts, [this](uint64_t steps) { return log_.Charge(steps); });
  if (result.exhausted) log_.Exhaust();
  if (result.fault) {
    log_.Add(VerifyRule::kCellCoverage, PlaceText(place),
             "element " + ListText(result.fault->element) + " lies in " +
                 std::to_string(result.fault->part_count) + " cells");
  }
}

// Notes which ranks have a place for each of its cells.
void CellChecker::CheckPlace(uint32_t place) {
  const PlanPlace& p = plan_.places[place];
  const PlanFamily& family = plan_.families[p.family];
  const bool destination = family.side == PlanSide::kDestination;
  const Box box = PlaceBox(plan_, p);
  std::vector<uint32_t> found;
  FindCells(p, box, &found);
  for (const uint32_t i : found) {
    const uint32_t cell = CellId(p, i);
    if (!Inside(box, CellBox(p, i))) {
      log_.Add(destination ? VerifyRule::kCellCoverage : VerifyRule::kCellOrigin, PlaceText(place),
               Cell(cell) + " lies only partly in it");
      return;
    }
    (destination ? targets_ : origins_).push_back({cell, family.rank_set});
  }
  if (destination) CheckTiling(place, box, found);
}

// The ranks with a place for a cell are the needers or holders of its class. Many cells have their
// places in the same sets, so that each combination is compared once.
void CellChecker::CheckStored(PlanSide side, std::vector<Stored> stored) {
  const bool destination = side == PlanSide::kDestination;
  std::sort(stored.begin(), stored.end());
  stored.erase(std::unique(stored.begin(), stored.end()), stored.end());
  std::map<std::vector<uint32_t>, bool> equal;  // the class's set, then the places' sets
  size_t at = 0;
  for (uint32_t cell = 0; cell < plan_.cells.size() && log_.CanGoOn(); ++cell) {
    const PlanClass& cls = plan_.classes[class_of_[cell]];
    const uint32_t stated = destination ? cls.needers : cls.holders;
    std::vector<uint32_t> key = {stated};
    for (; at < stored.size() && stored[at].cell == cell; ++at) key.push_back(stored[at].rank_set);
    if (!log_.Charge(key.size())) return;
    const auto known = equal.find(key);
    if (known != equal.end() && known->second) continue;
    RankList ranks;
    for (size_t i = 1; i < key.size(); ++i) {
      const RankList& more = plan_.rank_sets[key[i]];
      if (!log_.Charge(ranks.size() + more.size())) return;
      ranks = ranks.empty() ? more : Union(ranks, more);
    }
    const RankList& expected = plan_.rank_sets[stated];
    equal[key] = ranks == expected;
    if (ranks == expected) continue;
    const RankList without = Difference(expected, ranks);
    const RankList unlisted = Difference(ranks, expected);
    const std::string where = "class " + std::to_string(class_of_[cell]);
    if (!without.empty()) {
      log_.Add(destination ? VerifyRule::kCellTarget : VerifyRule::kCellOrigin, where,
               Cell(cell) + " has no place on ranks " + DescribeRanks(without) +
                   (destination ? ", which need it" : ", which hold it"));
    }
    if (!unlisted.empty()) {
      log_.Add(destination ? VerifyRule::kCellCoverage : VerifyRule::kCellOrigin, where,
               "ranks " + DescribeRanks(unlisted) + " have a place for " + Cell(cell) +
                   ", but are no " + (destination ? "needers" : "holders"));
    }
  }
}

void CellChecker::CheckPlan() {
  CheckClassBytes();
  if (!log_.CanGoOn()) return;
  BuildTrees(std::vector<bool>(plan_.cells.size(), true));
  for (uint32_t p = 0; p < plan_.places.size() && log_.CanGoOn(); ++p) CheckPlace(p);
  // A place that a violation has stopped has not stored all of its cells.
  if (!log_.clean()) return;
  CheckStored(PlanSide::kDestination, std::move(targets_));
  CheckStored(PlanSide::kSource, std::move(origins_));
}

void CellChecker::CheckRankDestinations(uint32_t rank) {
  std::vector<bool> wanted(plan_.cells.size(), false);
  for (const PlanClass& cls : plan_.classes) {
    if (!Contains(plan_.rank_sets[cls.needers], rank)) continue;
    std::fill_n(wanted.begin() + cls.first_cell, cls.cell_count, true);
  }
  BuildTrees(wanted);
  for (uint32_t p = 0; p < plan_.places.size() && log_.CanGoOn(); ++p) {
    const PlanFamily& family = plan_.families[plan_.places[p].family];
    if (family.side != PlanSide::kDestination ||
        !Contains(plan_.rank_sets[family.rank_set], rank)) {
      continue;
    }
    const Box box = PlaceBox(plan_, plan_.places[p]);
    std::vector<uint32_t> found;
    FindCells(plan_.places[p], box, &found);
    // A cell that lies only partly in a place is not written there.
    std::erase_if(found, [&](uint32_t i) { return !Inside(box, CellBox(plan_.places[p], i)); });
    for (const uint32_t i : found) wanted[CellId(plan_.places[p], i)] = false;
    CheckTiling(p, box, found);
  }
  for (uint32_t cell = 0; cell < wanted.size() && log_.CanGoOn(); ++cell) {
    if (!wanted[cell]) continue;
    log_.Add(VerifyRule::kCellTarget, "rank " + std::to_string(rank),
             Cell(cell) + " is needed, but has no place");
  }
}

void CellChecker::CheckRankSources(uint32_t rank) {
  std::vector<bool> sent(plan_.cells.size(), false);
  for (const PlanClass& cls : plan_.classes) {
    if (!Contains(plan_.rank_sets[cls.holders], rank)) continue;
    std::fill_n(sent.begin() + cls.first_cell, cls.cell_count, true);
  }
  trees_.assign(plan_.supers.size(), {});
  BuildTrees(sent);
  for (uint32_t p = 0; p < plan_.places.size() && log_.CanGoOn(); ++p) {
    const PlanFamily& family = plan_.families[plan_.places[p].family];
    if (family.side != PlanSide::kSource || !Contains(plan_.rank_sets[family.rank_set], rank)) {
      continue;
    }
    const Box box = PlaceBox(plan_, plan_.places[p]);
    std::vector<uint32_t> found;
    FindCells(plan_.places[p], box, &found);
    for (const uint32_t i : found) {
      if (Inside(box, CellBox(plan_.places[p], i))) sent[CellId(plan_.places[p], i)] = false;
    }
  }
  for (uint32_t cell = 0; cell < sent.size() && log_.CanGoOn(); ++cell) {
    if (!sent[cell]) continue;
    log_.Add(VerifyRule::kCellOrigin, "rank " + std::to_string(rank),
             Cell(cell) + " is held, but has no place");
  }
}

void CellChecker::CheckRank(uint32_t rank) {
  CheckClassBytes();
  if (log_.CanGoOn()) CheckRankDestinations(rank);
  if (log_.CanGoOn()) CheckRankSources(rank);
}

}  // namespace

void VerifyCells(const Plan& plan, VerifyLog* log) { CellChecker(plan, log).CheckPlan(); }

void VerifyCellsOfRank(const Plan& plan, uint32_t rank, VerifyLog* log) {
  CellChecker(plan, log).CheckRank(rank);
}

}  // namespace reshard
