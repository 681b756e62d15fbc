// A simulation as a trace that Chrome (chrome://tracing) and Perfetto show.
#ifndef RESHARD_COMPILER_SIMULATE_TRACE_H_
#define RESHARD_COMPILER_SIMULATE_TRACE_H_

#include <ostream>

#include "compiler/simulate/simulate.h"
#include "runtime/plan/plan.h"

namespace reshard {

// One track per direction of a NIC and of a rank's scale-up port, through which anything moved.
// What overlaps in time stands in further tracks of the same name. `result` has spans.
void WriteTrace(const Plan& plan, const SimResult& result, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_TRACE_H_
