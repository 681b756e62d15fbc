// Rule param-names: whoever binds a buffer by name binds one param.
//
// Names stay patterns: two patterns of one skeleton are compared by the numbers in their slots, and
// instances are listed only where ranges of numbers do not tell.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_NAMES_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_NAMES_H_

#include <cstdint>
#include <optional>

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// Of all ranks, or of one. The plan has passed VerifyBounds.
void VerifyNames(const Plan& plan, std::optional<uint32_t> rank, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_NAMES_H_
