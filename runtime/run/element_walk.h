// The elements of a place, one after the other, as runs along its innermost dim.
#ifndef RESHARD_RUNTIME_RUN_ELEMENT_WALK_H_
#define RESHARD_RUNTIME_RUN_ELEMENT_WALK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Element k of the run is element `element + k * element_step` (row-major in the tensor's shape) of
// the tensor that `loop_values` choose, at offset_bytes + k * stride_bytes of the instance.
struct ElementRun {
  const std::vector<int64_t>* loop_values = nullptr;
  int64_t element = 0;
  int64_t element_step = 0;
  int64_t count = 1;
  int64_t instance = 0;
  int64_t offset_bytes = 0;
  int64_t stride_bytes = 0;
};

// Tensors in row-major order of the loops, elements in row-major order of the place's dims.
// `on_tensor` is called before the runs of each tensor.
void ForEachElementRun(
    const Plan& plan, const PlanPlace& place,
    const std::function<void(const std::vector<int64_t>& loop_values)>& on_tensor,
    const std::function<void(const ElementRun&)>& on_run);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_ELEMENT_WALK_H_
