// SideAtoms: one side of one super-tensor, cut into boxes with one set of ranks each.
#ifndef RESHARD_COMPILER_TRANSFER_SIDE_ATOMS_H_
#define RESHARD_COMPILER_TRANSFER_SIDE_ATOMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/transfer/box.h"
#include "compiler/transfer/box_place.h"
#include "compiler/transfer/partition.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// Positions in a list of places: those of one side and super-tensor, sorted by box.
struct PlaceRange {
  size_t begin = 0;
  size_t end = 0;
};

struct SideAtoms {
  std::vector<size_t> first_place;     // per different box: its first place; one more at the end
  Partition partition;                 // of the different boxes
  std::vector<RankSetId> cover_ranks;  // per cover set of the partition: all ranks that store it

  const BoxList& atoms() const { return partition.atoms; }
  RankSetId AtomRanks(uint32_t atom) const { return cover_ranks[partition.atom_cover[atom]]; }
};

// False when the budget ran out.
[[nodiscard]] bool BuildSideAtoms(const std::vector<BoxPlace>& places, PlaceRange range,
                                  size_t dim_count, WorkBudget* budget, RankSetTable* rank_sets,
                                  SideAtoms* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_SIDE_ATOMS_H_
