#include "compiler/plan_tools/param_parts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/plan_tools/unravel.h"

namespace reshard {
namespace {

// Where the elements of a run are in one of the two params.
struct Lie {
  int64_t instance = 0;
  int64_t offset_bytes = 0;
  int64_t stride_bytes = 0;
};

// Indices along one axis, regular in both params.
struct AxisRun {
  IndexRun run;
  std::array<Lie, 2> lies;
  std::vector<std::pair<size_t, PlanInterval>> dims;  // which these are of the axis's dims
};

std::vector<int64_t> LoopValues(const PlanFamily& family, int64_t instance) {
  std::vector<int64_t> values = Unravel(instance, family.loop_extent);
  for (size_t i = 0; i < values.size(); ++i) values[i] += family.loop_begin[i];
  return values;
}

class Parts {
 public:
  Parts(const Plan& plan, const SuperBox& box, const PlanPlace& here, const PlanPlace& there,
        size_t limit)
      : plan_(plan),
        super_(plan.supers[here.super]),
        box_(box),
        places_{&here, &there},
        limit_(limit) {}

  bool Append(std::vector<ParamPart>* parts) {
    const size_t axes = super_.loop_begin.size() + super_.shape.size();
    std::vector<std::vector<AxisRun>> runs;
    size_t count = 1;
    for (uint32_t axis = 0; axis < axes; ++axis) {
      if (!RunsOf(axis, &runs.emplace_back())) return false;
      count *= runs.back().size();
      if (count > limit_) return false;
    }
    std::vector<size_t> at(axes, 0);
    for (bool more = true; more;) {
      parts->push_back(PartOf(runs, at));
      more = false;
      for (size_t axis = axes; axis-- > 0 && !more;) {
        more = ++at[axis] < runs[axis].size();
        if (!more) at[axis] = 0;
      }
    }
    return true;
  }

 private:
  const PlanDimRange& RangeOf(size_t place, size_t d) const {
    return plan_.place_dims[places_[place]->first_dim + d];
  }

  // A tensor, or a buffer, of its own for each index of the dim.
  bool IsVisited(size_t d) const {
    return super_.dims[d].axis < super_.loop_begin.size() || RangeOf(0, d).instance_stride != 0 ||
           RangeOf(1, d).instance_stride != 0;
  }

  // Dims that continue each other in the tensor and in both params are one run; an outer dim that
  // does not is gone through index by index.
  bool RunsOf(uint32_t axis, std::vector<AxisRun>* runs) const {
    runs->assign(1, AxisRun{});
    for (size_t d = super_.dims.size(); d-- > 0;) {  // lightest first
      if (super_.dims[d].axis != axis) continue;
      for (AxisRun& run : *runs)
        Move(d, box_[d].begin, RangeOf(0, d).begin, RangeOf(1, d).begin, &run);
      const bool joined =
          box_[d].extent == 1 || (runs->size() == 1 && !IsVisited(d) && Join(d, &runs->front()));
      if (joined) {
        for (AxisRun& run : *runs) run.dims.emplace_back(d, box_[d]);
        continue;
      }
      if (static_cast<size_t>(box_[d].extent) > limit_ / runs->size()) return false;
      std::vector<AxisRun> repeated;
      for (int64_t i = 0; i < box_[d].extent; ++i) {
        for (AxisRun run : *runs) {
          Move(d, i, 0, 0, &run);
          run.dims.emplace_back(d, PlanInterval{box_[d].begin + i, 1});
          repeated.push_back(std::move(run));
        }
      }
      *runs = std::move(repeated);
    }
    return true;
  }

  // To another index of the dim, counted from where it begins in each place.
  void Move(size_t d, int64_t index, int64_t begin_here, int64_t begin_there, AxisRun* run) const {
    run->run.begin += index * super_.dims[d].weight;
    const std::array<int64_t, 2> steps = {index - begin_here, index - begin_there};
    for (size_t i = 0; i < 2; ++i) {
      run->lies[i].instance += steps[i] * RangeOf(i, d).instance_stride;
      run->lies[i].offset_bytes += steps[i] * RangeOf(i, d).stride_bytes;
    }
  }

  bool Join(size_t d, AxisRun* run) const {
    IndexRun& inner = run->run;
    const int64_t weight = super_.dims[d].weight;
    if (inner.count == 1) {
      inner.count = box_[d].extent;
      inner.step = weight;
      for (size_t i = 0; i < 2; ++i) run->lies[i].stride_bytes = RangeOf(i, d).stride_bytes;
      return true;
    }
    bool continues = weight == inner.step * inner.count;
    for (size_t i = 0; i < 2; ++i) {
      continues =
          continues && RangeOf(i, d).stride_bytes == run->lies[i].stride_bytes * inner.count;
    }
    if (continues) inner.count *= box_[d].extent;
    return continues;
  }

  ParamPart PartOf(const std::vector<std::vector<AxisRun>>& runs,
                   const std::vector<size_t>& at) const {
    ParamPart part;
    part.box.resize(super_.dims.size());
    part.bytes = DTypeBytes(super_.dtype);
    std::array<Lie, 2> lies;
    for (size_t i = 0; i < 2; ++i) {
      lies[i] = {places_[i]->base_instance, places_[i]->base_bytes, 0};
    }
    std::vector<int64_t> loops;
    std::vector<const AxisRun*> shape;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      const AxisRun& run = runs[axis][at[axis]];
      for (const auto& [d, interval] : run.dims) part.box[d] = interval;
      for (size_t i = 0; i < 2; ++i) {
        lies[i].instance += run.lies[i].instance;
        lies[i].offset_bytes += run.lies[i].offset_bytes;
      }
      if (axis < super_.loop_begin.size()) {
        loops.push_back(run.run.begin);
      } else {
        part.elements.push_back(run.run);
        part.bytes *= run.run.count;
        shape.push_back(&run);
      }
    }
    part.tensor = super_.name.Instance(loops);
    part.here = BoxIn(0, lies[0], shape);
    part.there = BoxIn(1, lies[1], shape);
    return part;
  }

  // The elements of `runs` in the place's param.
  ParamBox BoxIn(size_t place, const Lie& lie, const std::vector<const AxisRun*>& runs) const {
    const PlanFamily& family = plan_.families[places_[place]->family];
    const int64_t element = DTypeBytes(family.dtype);
    std::vector<std::pair<int64_t, int64_t>> steps;
    for (const AxisRun* run : runs) {
      if (run->run.count == 1) continue;
      steps.emplace_back(run->lies[place].stride_bytes / element, run->run.count);
    }
    return BoxOfSteps(family, lie.instance, lie.offset_bytes / element, std::move(steps));
  }

  const Plan& plan_;
  const PlanSuper& super_;
  const SuperBox& box_;
  const std::array<const PlanPlace*, 2> places_;
  const size_t limit_;
};

}  // namespace

ParamBox BoxOfSteps(const PlanFamily& family, int64_t instance, int64_t first,
                    std::vector<std::pair<int64_t, int64_t>> steps) {
  const size_t dims = family.shape.size();
  ParamBox box;
  box.param = family.name.Instance(LoopValues(family, instance));
  box.first = Unravel(first, family.shape);
  box.step.assign(dims, 1);
  int64_t last = first;
  std::vector<int64_t> count(dims, 1), unit(dims, 1);
  for (size_t d = dims; d-- > 1;) unit[d - 1] = unit[d] * family.shape[d];
  std::sort(steps.begin(), steps.end());
  for (const auto& [stride, times] : steps) {
    last += (times - 1) * stride;
    size_t d = 0;
    while (d < dims && (stride % unit[d] != 0 || stride < unit[d])) ++d;
    // Two axes of the tensor may be one dim of the param, where one continues the other.
    if (d < dims && count[d] == 1) {
      box.step[d] = stride / unit[d];
      count[d] = times;
    } else if (d < dims && stride / unit[d] == box.step[d] * count[d]) {
      count[d] *= times;
    } else {
      box.is_box = false;
    }
  }
  box.last = Unravel(last, family.shape);
  for (size_t d = 0; d < dims; ++d) {
    box.is_box = box.is_box && box.first[d] + (count[d] - 1) * box.step[d] == box.last[d];
  }
  if (!box.is_box) box.step.assign(dims, 1);
  return box;
}

bool AppendParamParts(const Plan& plan, const SuperBox& box, const PlanPlace& here,
                      const PlanPlace& there, size_t limit, std::vector<ParamPart>* parts) {
  return Parts(plan, box, here, there, limit).Append(parts);
}

}  // namespace reshard
