// TensorParts: the boxes of a super-tensor, one tensor at a time.
//
// A place or cell covers many tensors of a template at once, and how templates are cut is a matter
// of how a layout is written. Its parts are not: one for each tensor (and each param buffer that
// holds some of it), with ranges along the axes of the tensor's own shape.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TENSOR_PARTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TENSOR_PARTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/plan_tools/content_ids.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct TensorPart {
  int64_t tensor = 0;        // row-major over the template's loops
  ContentIds::Id box = 0;    // ranges along the axes: one id per axis, as of AxisRanges
  ContentIds::Id lines = 0;  // how the box lies in the buffer
  int64_t elements = 0;
  int64_t instance = 0;      // of the param, from the place's base on
  int64_t offset_bytes = 0;  // in it, from the place's base on
};

// Tensors of a template.
int64_t TensorCount(const PlanSuper& super);
// The names of a pattern's instances, row-major.
std::vector<std::string> InstanceNames(const NamePattern& pattern,
                                       const std::vector<int64_t>& loop_begin,
                                       const std::vector<int64_t>& loop_extent);
// The ranges of a box along each axis from `first_axis` on (0: also along those of the loops): an
// id of the first index and, from the heaviest on, of the weight and extent of each digit.
std::vector<ContentIds::Id> AxisRanges(const PlanSuper& super, std::span<const PlanDimRange> dims,
                                       size_t first_axis, ContentIds* ids);
// The ranges of a box along the axes of the shape, whatever tensors it covers.
ContentIds::Id BoxOf(const PlanSuper& super, std::span<const PlanDimRange> dims, ContentIds* ids);
// How many parts ForEachPart visits.
int64_t PartCount(const PlanSuper& super, std::span<const PlanDimRange> dims);
// Visits the parts of a box, row-major; of a box that leaves the template's loops only those
// inside.
void ForEachPart(const PlanSuper& super, std::span<const PlanDimRange> dims, ContentIds* ids,
                 const std::function<void(const TensorPart&)>& visit);

std::span<const PlanDimRange> DimsOf(const Plan& plan, const PlanPlace& place);
// The dims of a cell, without strides.
std::vector<PlanDimRange> DimsOf(const Plan& plan, const PlanCell& cell);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TENSOR_PARTS_H_
