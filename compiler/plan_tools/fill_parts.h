// FillParts: the elements of a param that no tensor has, such as padding, and what becomes of them.
//
// Reads the fills of a plan only.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_FILL_PARTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_FILL_PARTS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/plan_tools/param_parts.h"
#include "compiler/plan_tools/tensor_places.h"
#include "runtime/plan/plan.h"

namespace reshard {

std::string_view FillRuleText(PlanFillRule rule);  // "zero"
// "set to zero at every execution"; a source sends none of them.
std::string_view FillRuleMeaning(PlanFillRule rule, PlanSide side);

struct FillPart {
  PlanFillRule rule = PlanFillRule::kZero;
  int64_t bytes = 0;
  ParamBox here;
};

// The fills of a param, or the part of them that is the element `at`; by where they are.
std::vector<FillPart> FillPartsOf(const Plan& plan, const ParamId& param,
                                  const std::optional<std::vector<int64_t>>& at);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_FILL_PARTS_H_
