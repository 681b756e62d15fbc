// The rule `totals`: what a plan claims of itself.
//
// Exact integers: a total is compared with what the tables add up to. The predicted time is only
// checked to be no shorter than the bound; the rest is verify_time.h.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_TOTALS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_TOTALS_H_

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// All other rules have been found to hold.
void VerifyTotals(const Plan& plan, const VerifyFacts& facts, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_TOTALS_H_
