// PartitionBoxes: overlapping boxes to disjoint ones.
//
// Every piece ("atom") knows which of the given boxes cover it, and lies wholly inside each of
// them. Boxes that overlap no other one, or only equal ones, stay whole; cut points are coordinates
// of the boxes that force the cut. Cost: about n log n where boxes are disjoint, whatever their
// arrangement in a grid.
#ifndef RESHARD_COMPILER_TRANSFER_PARTITION_H_
#define RESHARD_COMPILER_TRANSFER_PARTITION_H_

#include <cstdint>
#include <vector>

#include "compiler/transfer/box.h"

namespace reshard {

struct Partition {
  BoxList atoms;                                  // pairwise disjoint, sorted by BoxLess
  std::vector<std::vector<uint32_t>> cover_sets;  // of given boxes: distinct, each rising
  std::vector<uint32_t> atom_cover;               // per atom: its cover set
  bool any_cut = false;                           // some box consists of more than one atom

  const std::vector<uint32_t>& Cover(uint32_t atom) const { return cover_sets[atom_cover[atom]]; }
};

// False when the budget ran out.
[[nodiscard]] bool PartitionBoxes(const BoxList& boxes, WorkBudget* budget, Partition* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_PARTITION_H_
