// Prediction: how long a schedule takes when every round lasts as long as its busiest port.
#ifndef RESHARD_COMPILER_SCHEDULE_PREDICT_H_
#define RESHARD_COMPILER_SCHEDULE_PREDICT_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/schedule/schedule.h"

namespace reshard {

// Per round the time of its busiest port in one direction, in picoseconds. Copies inside domains
// and ranks are taken to hide behind the network.
std::vector<int64_t> BusiestPorts(const Topology& topology, const Schedule& schedule);

// The sum of these over rounds [first, end), plus what each costs.
int64_t PredictedNs(const Topology& topology, const std::vector<int64_t>& busiest_ps,
                    uint32_t first, uint32_t end);

// The whole schedule.
int64_t PredictNs(const Topology& topology, const Schedule& schedule);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_PREDICT_H_
