// StatedNs: the time that a plan states for itself.
#ifndef RESHARD_COMPILER_EMIT_SHARED_PORTS_H_
#define RESHARD_COMPILER_EMIT_SHARED_PORTS_H_

#include <cstdint>

#include "runtime/plan/plan.h"

namespace reshard {

// The time that the bytes of the busiest scale-up port, memory of a rank, uplinks of a group or
// shared fabric take when it is never idle, rounded up. A memory carries what its rank packs, and
// what it copies from its own slots and those of others. The plan is complete but for its totals
// and cuts.
int64_t BusiestSharedPortNs(const Plan& plan);

// The larger of `by_rounds_ns`, the prediction by NICs and rounds (PredictNs), and the busiest of
// the above with the cost of all rounds: these are idle in some rounds and busy in others. Needs
// the total of rounds, too.
int64_t StatedNs(const Plan& plan, int64_t by_rounds_ns, int64_t round_ns);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_SHARED_PORTS_H_
