// Boxes of param elements: what pieces of an explicit param cover, twice or not at all.
#ifndef RESHARD_COMPILER_LAYOUT_PARAM_BOXES_H_
#define RESHARD_COMPILER_LAYOUT_PARAM_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/layout/view.h"

namespace reshard {

struct PieceBox {
  std::vector<int64_t> begin;
  std::vector<int64_t> extent;  // none is 0
};

// Two of the boxes that share an element, the lower index first. Null also when the budget ends.
std::optional<std::pair<size_t, size_t>> FindOverlap(const std::vector<PieceBox>& boxes,
                                                     PieceBudget* budget);

// What the boxes leave of [0, shape), as disjoint boxes.
std::vector<PieceBox> Uncovered(const std::vector<int64_t>& shape,
                                const std::vector<PieceBox>& boxes, PieceBudget* budget);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_PARAM_BOXES_H_
