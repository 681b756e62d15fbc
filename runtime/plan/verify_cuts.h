// The rule `cut`: every cut witness of a plan says what the classes and the topology say, and the
// first one binds. What each kind of cut claims is described in docs/plan.md.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_CUTS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_CUTS_H_

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// The classes of the plan have been found right. Evaluates witnesses, never looks for any.
void VerifyCuts(const Plan& plan, const VerifyFacts& facts, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_CUTS_H_
