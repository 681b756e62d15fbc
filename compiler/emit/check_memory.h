// CheckMemory: does what a rank stores, on both sides, fit its GPU together with the staging?
#ifndef RESHARD_COMPILER_EMIT_CHECK_MEMORY_H_
#define RESHARD_COMPILER_EMIT_CHECK_MEMORY_H_

#include "compiler/diag/diagnostics.h"
#include "runtime/plan/plan.h"

namespace reshard {

// Reports memory-exceeded, once, for the ranks whose topology states a memory size that their
// params and staging exceed: a warning, or an error (and false) when `strict`. `topology` is where
// the message points.
[[nodiscard]] bool CheckMemory(const Plan& plan, Span topology, bool strict, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_CHECK_MEMORY_H_
