#include "runtime/run/element_walk.h"

#include <algorithm>
#include <numeric>

namespace reshard {
namespace {

class Walker {
 public:
  Walker(const Plan& plan, const PlanPlace& place,
         const std::function<void(const std::vector<int64_t>&)>& on_tensor,
         const std::function<void(const ElementRun&)>& on_run)
      : super_(plan.supers[place.super]), on_tensor_(on_tensor), on_run_(on_run) {
    const size_t loop_count = super_.loop_extent.size();
    // What one step along an axis adds to the row-major index in the shape.
    axis_step_.assign(loop_count + super_.shape.size(), 0);
    int64_t step = 1;
    for (size_t d = super_.shape.size(); d-- > 0;) {
      axis_step_[loop_count + d] = step;
      step *= super_.shape[d];
    }
    for (size_t d = 0; d < super_.dims.size(); ++d) {
      const PlanDimRange& range = plan.place_dims[place.first_dim + d];
      dims_.push_back({super_.dims[d].axis, super_.dims[d].weight, range});
    }
    std::stable_sort(dims_.begin(), dims_.end(),
                     [](const Dim& a, const Dim& b) { return a.axis < b.axis; });
    loop_values_.assign(loop_count, 0);
    run_.loop_values = &loop_values_;
    run_.instance = place.base_instance;
    run_.offset_bytes = place.base_bytes;
  }

  void Run() { Step(0, run_, false); }

 private:
  struct Dim {
    uint32_t axis = 0;
    int64_t weight = 1;
    PlanDimRange range;
  };

  // Dims before `d` are at one index each; `at` is where that is.
  void Step(size_t d, ElementRun at, bool in_tensor) {
    if (!in_tensor && (d == dims_.size() || dims_[d].axis >= loop_values_.size())) {
      on_tensor_(loop_values_);
      in_tensor = true;
    }
    if (d == dims_.size()) {
      on_run_(at);
      return;
    }
    const Dim& dim = dims_[d];
    const bool loop = dim.axis < loop_values_.size();
    const int64_t element_step = loop ? 0 : dim.weight * axis_step_[dim.axis];
    at.element += dim.range.begin * element_step;
    if (!loop && d + 1 == dims_.size() && dim.range.instance_stride == 0) {
      at.element_step = element_step;
      at.count = dim.range.extent;
      at.stride_bytes = dim.range.stride_bytes;
      on_run_(at);
      return;
    }
    for (int64_t i = 0; i < dim.range.extent; ++i) {
      const int64_t axis_index = (dim.range.begin + i) * dim.weight;
      if (loop) loop_values_[dim.axis] += axis_index;
      Step(d + 1, at, in_tensor);
      if (loop) loop_values_[dim.axis] -= axis_index;
      at.element += element_step;
      at.instance += dim.range.instance_stride;
      at.offset_bytes += dim.range.stride_bytes;
    }
  }

  const PlanSuper& super_;
  const std::function<void(const std::vector<int64_t>&)>& on_tensor_;
  const std::function<void(const ElementRun&)>& on_run_;
  std::vector<int64_t> axis_step_;
  std::vector<Dim> dims_;
  std::vector<int64_t> loop_values_;
  ElementRun run_;
};

}  // namespace

void ForEachElementRun(
    const Plan& plan, const PlanPlace& place,
    const std::function<void(const std::vector<int64_t>& loop_values)>& on_tensor,
    const std::function<void(const ElementRun&)>& on_run) {
  Walker(plan, place, on_tensor, on_run).Run();
}

}  // namespace reshard
