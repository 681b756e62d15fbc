#include "compiler/plan_tools/fill_parts.h"

#include <algorithm>
#include <utility>

namespace reshard {
namespace {

using Steps = std::vector<std::pair<int64_t, int64_t>>;  // how far, how often

// Whether `byte`, counted from where the fill begins, is one of those that its dims from the widest
// on reach.
bool Reaches(const Steps& dims, size_t from, int64_t byte) {
  if (from == dims.size()) return byte == 0;
  int64_t reach = 0;  // of the narrower dims together
  for (size_t d = from + 1; d < dims.size(); ++d) reach += dims[d].first * (dims[d].second - 1);
  const auto& [stride, extent] = dims[from];
  for (int64_t i = std::min(byte / stride, extent - 1); i >= 0; --i) {
    const int64_t rest = byte - i * stride;
    if (rest > reach) return false;
    if (Reaches(dims, from + 1, rest)) return true;
  }
  return false;
}

// The fill's dims, the widest first.
Steps DimsOf(const Plan& plan, const PlanFill& fill) {
  Steps dims;
  for (uint32_t d = 0; d < fill.dim_count; ++d) {
    const PlanFillDim& dim = plan.fill_dims[fill.first_dim + d];
    if (dim.extent > 1) dims.emplace_back(dim.stride_bytes, dim.extent);
  }
  std::sort(dims.rbegin(), dims.rend());
  return dims;
}

// In elements. Those that follow each other are steps in one or more dims of the param.
Steps ElementSteps(const PlanFamily& family, const Steps& dims) {
  const int64_t element = DTypeBytes(family.dtype);
  Steps steps;
  for (const auto& [stride, extent] : dims) {
    int64_t step = stride >= element ? stride / element : 1;
    int64_t times = stride >= element ? extent : extent / element;
    // Whole rows of the param.
    int64_t unit = 1;
    for (size_t d = family.shape.size(); d-- > 1 && times > 1;) {
      if (step == unit && times > family.shape[d] && times % family.shape[d] == 0) {
        steps.emplace_back(step, family.shape[d]);
        times /= family.shape[d];
        step *= family.shape[d];
      }
      unit *= family.shape[d];
    }
    if (times > 1) steps.emplace_back(step, times);
  }
  return steps;
}

}  // namespace

std::string_view FillRuleText(PlanFillRule rule) {
  return rule == PlanFillRule::kZero ? "zero" : "keep";
}

std::string_view FillRuleMeaning(PlanFillRule rule, PlanSide side) {
  if (side == PlanSide::kSource) return "never sent";
  return rule == PlanFillRule::kZero ? "set to zero at every execution"
                                     : "kept: no execution writes it";
}

std::vector<FillPart> FillPartsOf(const Plan& plan, const ParamId& param,
                                  const std::optional<std::vector<int64_t>>& at) {
  const PlanFamily& family = plan.families[param.family];
  const int64_t element_bytes = DTypeBytes(family.dtype);
  int64_t asked = 0;
  for (size_t d = 0; at && d < at->size(); ++d) asked = asked * family.shape[d] + (*at)[d];
  std::vector<FillPart> parts;
  for (const PlanFill& fill : plan.fills) {
    if (fill.family != param.family) continue;
    const Steps dims = DimsOf(plan, fill);
    FillPart part{fill.rule, at ? element_bytes : 1, {}};
    if (at) {
      const int64_t byte = asked * element_bytes - fill.base_bytes;
      if (byte < 0 || !Reaches(dims, 0, byte)) continue;
      part.here = BoxOfSteps(family, param.instance, asked, {});
    } else {
      for (const auto& [stride, extent] : dims) part.bytes *= extent;
      part.here = BoxOfSteps(family, param.instance, fill.base_bytes / element_bytes,
                             ElementSteps(family, dims));
    }
    parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end(),
            [](const FillPart& a, const FillPart& b) { return a.here < b.here; });
  return parts;
}

}  // namespace reshard
