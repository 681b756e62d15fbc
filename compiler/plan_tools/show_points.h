// `show --points`: facts of a plan as `expect` entries, ready to paste into a layout.
//
// A reviewer who knows the model checks a few of them by hand, pastes them, and from then on every
// compilation checks them again.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SHOW_POINTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SHOW_POINTS_H_

#include <optional>
#include <ostream>

#include "runtime/base/rank_set.h"
#include "runtime/plan/plan.h"

namespace reshard {

// One entry per param template of `side`, for its first rank and for `rank` alone when that is
// given: the shape, and the first and last element of each tensor in the param's first and last
// instance. A JSON array.
void ShowPoints(const Plan& plan, PlanSide side, std::optional<Rank> rank, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SHOW_POINTS_H_
