// Rules about rounds: slot-size, ops-per-round, message-unique, and, for each kind of tree,
// progress and slot-reuse. Counted from trees and slices; no rank is expanded.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_SLOTS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_SLOTS_H_

#include <cstdint>

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_facts.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// The plan has passed VerifyBounds.
void VerifySlots(const Plan& plan, const VerifyFacts& facts, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_SLOTS_H_
