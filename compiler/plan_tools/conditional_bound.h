// ConditionalBound: a bound of schedules that keep to an assumption, found anew from a plan.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_CONDITIONAL_BOUND_H_
#define RESHARD_COMPILER_PLAN_TOOLS_CONDITIONAL_BOUND_H_

#include <cstdint>

#include "runtime/plan/plan.h"

namespace reshard {

// How long it takes at least if only domains that hold or need bytes pass them on
// (compiler/route/relay_bound.h); 0 where that says no more than the plan's own bound, or where
// there are too many domains to look at.
int64_t RelayBoundOf(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_CONDITIONAL_BOUND_H_
