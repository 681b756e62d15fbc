// CountTotals: what a plan's tables add up to.
#ifndef RESHARD_COMPILER_EMIT_PLAN_TOTALS_H_
#define RESHARD_COMPILER_EMIT_PLAN_TOTALS_H_

#include "runtime/plan/plan.h"

namespace reshard {

// Every total except predicted_ns. All other tables of `plan` are filled.
PlanTotals CountTotals(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_PLAN_TOTALS_H_
