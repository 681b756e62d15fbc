// Prediction: how long a schedule takes when every round lasts as long as its busiest port.
#ifndef RESHARD_COMPILER_SCHEDULE_PREDICT_H_
#define RESHARD_COMPILER_SCHEDULE_PREDICT_H_

#include <cstdint>

#include "compiler/layout/topology.h"
#include "compiler/schedule/schedule.h"

namespace reshard {

// The sum over all rounds of the time of the busiest port in one direction, plus kRoundOverheadNs
// for each round. Copies inside domains and ranks are taken to hide behind the network.
int64_t PredictNs(const Topology& topology, const Schedule& schedule);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_PREDICT_H_
