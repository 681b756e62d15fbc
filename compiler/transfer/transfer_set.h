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
#include "runtime/base/rank_set.h"

namespace reshard {

using ClassId = uint32_t;

// Index along `axis` = sum over the dims of that axis of (dim index * weight). An axis without
// steps has one dim of weight 1. Dims of an axis stand together, heaviest first.
struct RefinedDim {
  uint32_t axis = 0;
  int64_t weight = 1;
};

struct BoxDim {
  int64_t begin = 0;
  int64_t extent = 1;
};

// A place as a box in refined dims. Element `index` lies in instance
// base_instance + sum((index_d - begin_d) * instance_stride_d), at byte
// base_bytes + sum((index_d - begin_d) * stride_bytes_d).
struct BoxPlace {
  Side side = Side::kSource;
  SuperId super = 0;
  FamilyId family = 0;  // of that side's layout
  RankSetId ranks = 0;
  int64_t base_bytes = 0;
  int64_t base_instance = 0;
  struct Dim {
    int64_t begin = 0;
    int64_t extent = 1;
    int64_t stride_bytes = 0;
    int64_t instance_stride = 0;
  };
  std::vector<Dim> dims;
};

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
                                  const Layout& destination, Diagnostics* diags,
                                  TransferSet* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_TRANSFER_SET_H_
