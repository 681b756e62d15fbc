#include "compiler/transfer/leave_out_ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/transfer/describe_tensors.h"
#include "compiler/transfer/name_ranks.h"

namespace reshard {
namespace {

constexpr FamilyId kGone = UINT32_MAX;

class RankRemover {
 public:
  RankRemover(const LogicalTable& table, const RankList& left_out, const RankList& placed,
              Diagnostics* diags, JobSides sides)
      : table_(table), left_out_(left_out), placed_(placed), diags_(*diags), sides_(sides) {}

  bool Run() {
    if (!CheckKnown() || !CheckCopies()) return false;
    RemoveFrom(Side::kSource, sides_.source);
    RemoveFrom(Side::kDestination, sides_.destination);
    RebuildClasses();
    if (!sides_.transfers->classes.empty()) return true;
    diags_.Error(DiagnosticCode::kNothingToMove, Span{},
                 "without " + NameRanks(left_out_) + " nothing is needed by anyone");
    return false;
  }

 private:
  RankList Without(const RankList& ranks) const { return Difference(ranks, left_out_); }
  bool CheckKnown();
  bool CheckCopies();
  void RemoveFrom(Side side, Layout* layout);
  void RebuildClasses();

  const LogicalTable& table_;
  const RankList& left_out_;
  const RankList& placed_;
  Diagnostics& diags_;
  JobSides sides_;
};

bool RankRemover::CheckKnown() {
  const RankList known = Union(Union(sides_.source->ranks, sides_.destination->ranks), placed_);
  const RankList unknown = Difference(left_out_, known);
  if (unknown.empty()) return true;
  diags_.Error(DiagnosticCode::kUnknownRank, Span{},
               "cannot exclude " + NameRanks(unknown) + ": the layouts and the topology have " +
                   NameRanks(known));
  return false;
}

// One error for all that the same ranks alone hold.
bool RankRemover::CheckCopies() {
  const TransferSet& transfers = *sides_.transfers;
  std::map<RankSetId, std::pair<std::vector<ClassId>, RankList>> lost;  // and who needs it
  for (ClassId id = 0; id < transfers.classes.size(); ++id) {
    const TransferClass& cls = transfers.classes[id];
    const RankList needers = Without(transfers.rank_sets[cls.needers]);
    if (needers.empty() || !IsSubset(transfers.rank_sets[cls.holders], left_out_)) continue;
    auto& [classes, all_needers] = lost[cls.holders];
    classes.push_back(id);
    all_needers = Union(all_needers, needers);
  }
  for (const auto& [holders, what] : lost) {
    const Cell& cell = transfers.cells[transfers.classes[what.first.front()].first_cell];
    Diagnostic& error = diags_.Error(DiagnosticCode::kOnlyCopyExcluded, Span{},
                                     "bytes of " + DescribeTensors(table_, transfers, what.first) +
                                         " for " + NameRanks(what.second) + " are only on " +
                                         NameRanks(transfers.rank_sets[holders]) +
                                         ", all excluded by --exclude-ranks or in the topology");
    error.notes.push_back({table_.supers[cell.super].declared, "the tensor is declared here"});
  }
  return lost.empty();
}

void RankRemover::RemoveFrom(Side side, Layout* layout) {
  layout->ranks = Without(layout->ranks);
  std::vector<FamilyId> new_ids;
  std::vector<ParamFamily> kept;
  for (ParamFamily& family : layout->families) {
    const RankList ranks = Without(layout->rank_sets[family.ranks]);
    new_ids.push_back(ranks.empty() ? kGone : static_cast<FamilyId>(kept.size()));
    if (ranks.empty()) continue;
    family.ranks = layout->rank_sets.Intern(ranks);
    kept.push_back(std::move(family));
  }
  layout->families = std::move(kept);
  const auto renumber = [&](auto* rows, const auto& of_side) {
    std::erase_if(*rows,
                  [&](const auto& row) { return of_side(row) && new_ids[row.family] == kGone; });
    for (auto& row : *rows) {
      if (of_side(row)) row.family = new_ids[row.family];
    }
  };
  const auto always = [](const auto&) { return true; };
  renumber(&layout->places, always);
  renumber(&layout->fills, always);
  TransferSet* transfers = sides_.transfers;
  renumber(&transfers->places, [side](const BoxPlace& place) { return place.side == side; });
  for (BoxPlace& place : transfers->places) {
    if (place.side != side) continue;
    place.ranks = transfers->rank_sets.Intern(Without(transfers->rank_sets[place.ranks]));
  }
}

// Classes of the same ranks become one, in the order of the first of them.
void RankRemover::RebuildClasses() {
  TransferSet& transfers = *sides_.transfers;
  std::map<std::pair<RankSetId, RankSetId>, size_t> ids;
  std::vector<TransferClass> classes;
  std::vector<std::vector<uint32_t>> cells_of_class;
  for (const TransferClass& cls : transfers.classes) {
    const RankList holders = Without(transfers.rank_sets[cls.holders]);
    const RankList needers = Without(transfers.rank_sets[cls.needers]);
    if (needers.empty()) continue;
    const RankSetId holders_id = transfers.rank_sets.Intern(holders);
    const RankSetId needers_id = transfers.rank_sets.Intern(needers);
    const auto [entry, is_new] = ids.try_emplace({holders_id, needers_id}, classes.size());
    if (is_new) {
      classes.push_back({holders_id, needers_id, 0, 0, 0});
      cells_of_class.emplace_back();
    }
    classes[entry->second].bytes += cls.bytes;
    for (uint32_t c = cls.first_cell; c < cls.first_cell + cls.cell_count; ++c) {
      cells_of_class[entry->second].push_back(c);
    }
  }
  std::vector<Cell> cells;
  for (size_t i = 0; i < classes.size(); ++i) {
    classes[i].first_cell = static_cast<uint32_t>(cells.size());
    classes[i].cell_count = static_cast<uint32_t>(cells_of_class[i].size());
    for (const uint32_t c : cells_of_class[i]) cells.push_back(std::move(transfers.cells[c]));
  }
  transfers.classes = std::move(classes);
  transfers.cells = std::move(cells);
}

}  // namespace

bool LeaveOutRanks(const LogicalTable& table, const RankList& left_out, const RankList& placed,
                   Diagnostics* diags, JobSides sides) {
  return RankRemover(table, left_out, placed, diags, sides).Run();
}

}  // namespace reshard
