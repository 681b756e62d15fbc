#include "compiler/plan_tools/tensor_parts.h"

namespace reshard {
namespace {

size_t LoopsOf(const PlanSuper& super) { return super.loop_extent.size(); }

// Whether a part has one index of this dim only.
bool IsVisited(const PlanSuper& super, size_t d, const PlanDimRange& range) {
  return super.dims[d].axis < LoopsOf(super) || (range.instance_stride != 0 && range.extent > 1);
}

// A range of one dim, counted in elements of its axis.
struct Run {
  int64_t weight = 1, extent = 1, stride_bytes = 0;
};

// Appends the run unless it continues the one before it, which is heavier. Where runs meet in the
// axis, but not in the buffer, they are only joined when strides do not matter.
void AppendRun(const Run& run, bool with_strides, std::vector<Run>* runs) {
  if (!runs->empty()) {
    Run& heavier = runs->back();
    const bool meets = heavier.weight == run.weight * run.extent &&
                       (!with_strides || heavier.stride_bytes == run.stride_bytes * run.extent);
    if (meets) {
      heavier = {run.weight, heavier.extent * run.extent, run.stride_bytes};
      return;
    }
  }
  runs->push_back(run);
}

ContentIds::Id IdOfRanges(int64_t start, const std::vector<Run>& ranges, ContentIds* ids) {
  ContentIds::Words words = {start};
  for (const Run& run : ranges) words.insert(words.end(), {run.weight, run.extent});
  return ids->Of(words);
}

// The parts of one box, visited like the digits of a number.
class Parts {
 public:
  Parts(const PlanSuper& super, std::span<const PlanDimRange> dims, ContentIds* ids)
      : super_(super), dims_(dims), ids_(ids), starts_(LoopsOf(super) + super.shape.size(), 0) {
    std::vector<int64_t> tensors_per_index(LoopsOf(super), 1);
    for (size_t axis = LoopsOf(super); axis-- > 1;) {
      tensors_per_index[axis - 1] = tensors_per_index[axis] * super.loop_extent[axis];
    }
    for (size_t axis = 0; axis < LoopsOf(super); ++axis) {
      part_.tensor -= super.loop_begin[axis] * tensors_per_index[axis];
    }
    part_.elements = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      const uint32_t axis = super.dims[d].axis;
      const int64_t weight = super.dims[d].weight;
      starts_[axis] += dims[d].begin * weight;
      const bool loop = axis < LoopsOf(super);
      if (loop) part_.tensor += dims[d].begin * weight * tensors_per_index[axis];
      if (!IsVisited(super, d, dims[d])) {
        part_.elements *= dims[d].extent;
        continue;
      }
      boxes_change_ = boxes_change_ || (!loop && dims[d].extent > 1);
      digits_.push_back({d, 0, loop ? weight * tensors_per_index[axis] : 0});
    }
    tensor_count_ = TensorCount(super);
    Describe();
  }

  void Visit(const std::function<void(const TensorPart&)>& visit) {
    do {
      if (boxes_change_) Describe();
      if (part_.tensor >= 0 && part_.tensor < tensor_count_) visit(part_);
    } while (Next());
  }

 private:
  struct Digit {
    size_t dim = 0;
    int64_t index = 0;  // from the dim's begin on
    int64_t tensor_step = 0;
  };

  void Move(const Digit& digit, int64_t by) {
    const PlanDimRange& range = dims_[digit.dim];
    starts_[super_.dims[digit.dim].axis] += by * super_.dims[digit.dim].weight;
    part_.tensor += by * digit.tensor_step;
    part_.instance += by * range.instance_stride;
    part_.offset_bytes += by * range.stride_bytes;
  }

  bool Next() {
    for (size_t i = digits_.size(); i-- > 0;) {
      Digit& digit = digits_[i];
      if (digit.index + 1 < dims_[digit.dim].extent) {
        ++digit.index;
        Move(digit, 1);
        return true;
      }
      Move(digit, -digit.index);
      digit.index = 0;
    }
    return false;
  }

  // Sets the ids of the part's box and of how it lies in the buffer.
  void Describe() {
    ContentIds::Words box, lines;
    for (size_t axis = LoopsOf(super_); axis < starts_.size(); ++axis) {
      std::vector<Run> ranges, strided;
      for (size_t d = 0; d < dims_.size(); ++d) {
        if (super_.dims[d].axis != axis || dims_[d].extent == 1) continue;
        if (IsVisited(super_, d, dims_[d])) continue;
        const Run run{super_.dims[d].weight, dims_[d].extent, dims_[d].stride_bytes};
        AppendRun(run, false, &ranges);
        AppendRun(run, true, &strided);
      }
      box.push_back(IdOfRanges(starts_[axis], ranges, ids_));
      lines.push_back(static_cast<int64_t>(strided.size()));
      for (const Run& run : strided) {
        lines.insert(lines.end(), {run.weight, run.extent, run.stride_bytes});
      }
    }
    part_.box = ids_->Of(box);
    part_.lines = ids_->Of(lines);
  }

  const PlanSuper& super_;
  std::span<const PlanDimRange> dims_;
  ContentIds* ids_;
  std::vector<int64_t> starts_;  // of the part, along each axis
  std::vector<Digit> digits_;
  bool boxes_change_ = false;
  int64_t tensor_count_ = 0;
  TensorPart part_;
};

}  // namespace

int64_t TensorCount(const PlanSuper& super) {
  int64_t count = 1;
  for (const int64_t extent : super.loop_extent) count *= extent;
  return count;
}

std::vector<std::string> InstanceNames(const NamePattern& pattern,
                                       const std::vector<int64_t>& loop_begin,
                                       const std::vector<int64_t>& loop_extent) {
  std::vector<std::string> names;
  std::vector<int64_t> values = loop_begin;
  for (bool more = true; more;) {
    names.push_back(pattern.Instance(values));
    more = false;
    for (size_t i = values.size(); i-- > 0 && !more;) {
      more = ++values[i] < loop_begin[i] + loop_extent[i];
      if (!more) values[i] = loop_begin[i];
    }
  }
  return names;
}

std::vector<ContentIds::Id> AxisRanges(const PlanSuper& super, std::span<const PlanDimRange> dims,
                                       size_t first_axis, ContentIds* ids) {
  std::vector<ContentIds::Id> axes;
  for (size_t axis = first_axis; axis < LoopsOf(super) + super.shape.size(); ++axis) {
    int64_t start = 0;
    std::vector<Run> ranges;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (super.dims[d].axis != axis) continue;
      start += dims[d].begin * super.dims[d].weight;
      if (dims[d].extent > 1) AppendRun({super.dims[d].weight, dims[d].extent, 0}, false, &ranges);
    }
    axes.push_back(IdOfRanges(start, ranges, ids));
  }
  return axes;
}

ContentIds::Id BoxOf(const PlanSuper& super, std::span<const PlanDimRange> dims, ContentIds* ids) {
  const std::vector<ContentIds::Id> axes = AxisRanges(super, dims, LoopsOf(super), ids);
  return ids->Of(ContentIds::Words(axes.begin(), axes.end()));
}

int64_t PartCount(const PlanSuper& super, std::span<const PlanDimRange> dims) {
  int64_t count = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (IsVisited(super, d, dims[d])) count *= dims[d].extent;
  }
  return count;
}

void ForEachPart(const PlanSuper& super, std::span<const PlanDimRange> dims, ContentIds* ids,
                 const std::function<void(const TensorPart&)>& visit) {
  Parts(super, dims, ids).Visit(visit);
}

std::span<const PlanDimRange> DimsOf(const Plan& plan, const PlanPlace& place) {
  return {plan.place_dims.data() + place.first_dim, plan.supers[place.super].dims.size()};
}

std::vector<PlanDimRange> DimsOf(const Plan& plan, const PlanCell& cell) {
  std::vector<PlanDimRange> dims(plan.supers[cell.super].dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const PlanInterval& interval = plan.intervals[plan.cell_dims[cell.first_dim + d]];
    dims[d].begin = interval.begin;
    dims[d].extent = interval.extent;
  }
  return dims;
}

}  // namespace reshard
