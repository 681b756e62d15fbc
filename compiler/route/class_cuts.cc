#include "compiler/route/class_cuts.h"

#include <algorithm>

#include "runtime/plan/plan.h"

namespace reshard {

ClassCuts::ClassCuts(const TransferSet& transfers)
    : transfers_(&transfers), cell_begin_(transfers.cells.size(), 0) {
  for (const TransferClass& cls : transfers.classes) {
    int64_t begin = 0;
    for (uint32_t i = 0; i < cls.cell_count; ++i) {
      cell_begin_[cls.first_cell + i] = begin;
      begin += transfers.cells[cls.first_cell + i].bytes;
    }
  }
}

ClassCuts::CellRange ClassCuts::CellAt(ClassId cls, int64_t at_bytes) const {
  const TransferClass& facts = transfers_->classes[cls];
  const auto first = cell_begin_.begin() + facts.first_cell;
  const auto after = std::upper_bound(first, first + facts.cell_count, at_bytes);
  const auto cell = static_cast<size_t>(after - 1 - cell_begin_.begin());
  return {cell_begin_[cell], cell_begin_[cell] + transfers_->cells[cell].bytes};
}

int64_t ClassCuts::Floor(ClassId cls, int64_t at_bytes) const {
  const CellRange cell = CellAt(cls, at_bytes);
  if (at_bytes >= cell.end) return cell.end;
  return at_bytes - (at_bytes - cell.begin) % kCutAlignBytes;
}

int64_t ClassCuts::Ceil(ClassId cls, int64_t at_bytes) const {
  const int64_t floor = Floor(cls, at_bytes);
  if (floor == at_bytes) return floor;
  return std::min(floor + kCutAlignBytes, CellAt(cls, at_bytes).end);
}

}  // namespace reshard
