// Refinement: places with steps to boxes.
//
// An axis on which some place has steps (every fourth expert, heads of one KV group) gets several
// dims: index = sum of (dim index * weight), with weights that divide each other, so that such a
// place is one box or a few. A contiguous range becomes at most three boxes along a pair of dims.
#ifndef RESHARD_COMPILER_TRANSFER_REFINE_H_
#define RESHARD_COMPILER_TRANSFER_REFINE_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/layout.h"
#include "compiler/transfer/box.h"
#include "compiler/transfer/box_place.h"

namespace reshard {

// Digits that move nothing are left out and digits that continue each other are joined; the rest is
// sorted, the largest step first.
std::vector<PlaceDigit> NormalDigits(const PlaceAxis& axis);

// Weights for an axis of indices below `axis_end` on which digits with these steps occur (as often
// as they are listed). Heaviest first, each divides the one before, the last is 1.
std::vector<int64_t> ChooseWeights(std::vector<int64_t> steps, int64_t axis_end);

// Per axis of a super-tensor: its weights.
using AxisWeights = std::vector<std::vector<int64_t>>;

// Appends the boxes of `place`, their ranks left open; each element of the place lies in exactly
// one of them. False when the budget ran out.
[[nodiscard]] bool RefinePlace(const Place& place, const AxisWeights& weights, Side side,
                               WorkBudget* budget, std::vector<BoxPlace>* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_REFINE_H_
