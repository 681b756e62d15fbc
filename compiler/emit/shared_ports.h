// BusiestSharedPortNs: what the prediction by NICs and rounds leaves out.
#ifndef RESHARD_COMPILER_EMIT_SHARED_PORTS_H_
#define RESHARD_COMPILER_EMIT_SHARED_PORTS_H_

#include <cstdint>

#include "runtime/plan/plan.h"

namespace reshard {

// The time that the bytes of the busiest scale-up port, uplinks of a group or shared fabric take
// when it is never idle, rounded up. The plan is complete but for its totals and cuts.
int64_t BusiestSharedPortNs(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_SHARED_PORTS_H_
