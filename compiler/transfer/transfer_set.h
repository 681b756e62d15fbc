// TransferSet: what must move, before any decision about how.
//
// Steps of places are refined into further dims first, so that every place and every cell is a box.
// A cell is a largest box of a super-tensor whose elements have one set of holders and one set of
// needers; a class is all cells with the same two sets. The bytes of a class are numbered: its
// cells in order, each row-major over its box. Grows with classes, never with pieces times ranks.
#ifndef RESHARD_COMPILER_TRANSFER_TRANSFER_SET_H_
#define RESHARD_COMPILER_TRANSFER_TRANSFER_SET_H_

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/transfer/box.h"
#include "compiler/transfer/box_place.h"
#include "runtime/base/rank_set.h"

namespace reshard {

using ClassId = uint32_t;

struct Cell {
  SuperId super = 0;
  std::vector<BoxDim> box;
  int64_t bytes = 0;
};

struct TransferClass {
  RankSetId holders = 0;
  RankSetId needers = 0;
  int64_t bytes = 0;
  uint32_t first_cell = 0;  // its cells are [first_cell, first_cell + cell_count)
  uint32_t cell_count = 0;
};

struct TransferSet {
  RankSetTable rank_sets;
  std::vector<std::vector<RefinedDim>> dims;  // per super-tensor
  std::vector<BoxPlace> places;               // by (side, super, ...), a fixed order
  std::vector<Cell> cells;                    // grouped by class
  std::vector<TransferClass> classes;
};

// Reports not-held, not-needed, ranks-shared, nothing-to-move. Equal layouts give equal sets
// whatever the order of their JSON keys.
[[nodiscard]] bool BuildTransfers(const LogicalTable& table, const Layout& source,
                                  const Layout& destination, Diagnostics* diags, TransferSet* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_TRANSFER_SET_H_
