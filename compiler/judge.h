// Judge: how long a schedule takes, as an event simulation of it says. It knows what the prediction
// does not: copies inside domains, uplinks, waits, and that transfers share ports.
#ifndef RESHARD_COMPILER_JUDGE_H_
#define RESHARD_COMPILER_JUDGE_H_

#include <cstdint>

#include "compiler/layout/topology.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

struct Judgement {
  int64_t predicted_ns = 0;  // as the plan will state it
  int64_t simulated_ns = 0;
  // False: simulated are the first rounds, the last ones and stretches between them, by which the
  // prediction of the rest is scaled.
  // Of jobs whose single rounds are too large for that both times are the prediction by NICs and
  // rounds, which may be less than the plan will state.
  bool whole = true;
};

// `alone`: there is no other schedule to choose. The prediction stands where it is too large to be
// simulated as a whole.
Judgement JudgeSchedule(const TransferSet& transfers, const Topology& topology,
                        const Schedule& schedule, bool alone = false);

}  // namespace reshard

#endif  // RESHARD_COMPILER_JUDGE_H_
