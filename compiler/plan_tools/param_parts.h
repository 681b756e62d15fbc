// ParamParts: the elements of a box of a super-tensor as they lie in two params at once.
//
// A box covers many tensors of a template, and maybe many buffers on either side. Its parts are
// regular in both: each belongs to one tensor and to one buffer of either side. Grows with the
// parts, which `limit` bounds.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PARAM_PARTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PARAM_PARTS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan_tools/tensor_places.h"
#include "runtime/plan/plan.h"

namespace reshard {

// Indices of a param. Where `is_box`, those from `first` to `last` per dim, `step` apart; else all
// that lies evenly between the two elements.
struct ParamBox {
  std::string param;
  std::vector<int64_t> first, last, step;
  bool is_box = true;
  auto operator<=>(const ParamBox&) const = default;
};

// The elements of an instance of a family from number `first` on, in steps of so many elements, so
// many times each. Every step is an index of some dim.
ParamBox BoxOfSteps(const PlanFamily& family, int64_t instance, int64_t first,
                    std::vector<std::pair<int64_t, int64_t>> steps);

// Ranges of the dims of a super-tensor.
using SuperBox = std::vector<PlanInterval>;

struct ParamPart {
  std::string tensor;
  std::vector<IndexRun> elements;  // per dim of the tensor
  SuperBox box;                    // the same
  int64_t bytes = 0;
  ParamBox here, there;
};

// The parts of `box` in the params of two places, which both have all of it. Appends at most
// `limit` parts; false when there are more.
bool AppendParamParts(const Plan& plan, const SuperBox& box, const PlanPlace& here,
                      const PlanPlace& there, size_t limit, std::vector<ParamPart>* parts);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PARAM_PARTS_H_
