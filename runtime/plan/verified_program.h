// VerifiedProgram: what a rank checks of a loaded plan before it runs its part.
//
// LoadPlan has checked every digest and every bound; here are the local rules of the rank
// (verify.h). The global rules are not checked: they take longer, are the same for all ranks, and
// are proven once, before a plan is given out. Ranks compare the root digest before the first byte
// moves.
#ifndef RESHARD_RUNTIME_PLAN_VERIFIED_PROGRAM_H_
#define RESHARD_RUNTIME_PLAN_VERIFIED_PROGRAM_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

// What the rank does, when its local rules hold. kNotFound when the plan has no such rank,
// kCorruptData when a local rule is broken, kLimitExceeded when checking it would take too long.
StatusOr<Program> VerifiedProgram(const Plan& plan, uint32_t rank);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFIED_PROGRAM_H_
