// Boxes of a super-tensor in terms of its tensors: names, counts and element ranges for messages.
#ifndef RESHARD_COMPILER_TRANSFER_TENSOR_BOXES_H_
#define RESHARD_COMPILER_TRANSFER_TENSOR_BOXES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/layout/logical_table.h"
#include "compiler/transfer/box.h"
#include "compiler/transfer/box_place.h"

namespace reshard {

// A super-tensor with its refined dims; those of the loop axes stand first.
class TensorBoxes {
 public:
  TensorBoxes(const SuperTensor& super, const std::vector<RefinedDim>& dims);

  // The tensors that `boxes` touch, as disjoint boxes of the loop dims. False: budget.
  [[nodiscard]] bool TensorsIn(const BoxList& boxes, WorkBudget* budget, BoxList* out) const;
  // Those tensors of the super-tensor that `boxes` do not touch. False: budget.
  [[nodiscard]] bool TensorsOutside(const BoxList& boxes, WorkBudget* budget, BoxList* out) const;

  // Calls `visit` for each tensor of `tensors` in order, with its point in the loop dims, until it
  // returns false.
  static void ForEach(const BoxList& tensors,
                      const std::function<bool(const std::vector<int64_t>& point)>& visit);

  std::string Name(const std::vector<int64_t>& point) const;
  // Elements [0:4, 8:16] of the tensor at `point`, which `box` touches: the first contiguous run
  // per axis.
  std::string Elements(BoxView box) const;
  bool Touches(BoxView box, const std::vector<int64_t>& point) const;

 private:
  const SuperTensor& super_;
  const std::vector<RefinedDim>& dims_;
  size_t loop_dims_ = 0;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_TENSOR_BOXES_H_
