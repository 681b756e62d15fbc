// RankTraffic: how many bytes each rank sends to each other, over the network and inside domains.
//
// Adds up trees, injects and pieces; no program is expanded. What a rank copies inside itself is
// left out.
#ifndef RESHARD_COMPILER_REPORT_RANK_TRAFFIC_H_
#define RESHARD_COMPILER_REPORT_RANK_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Indices into plan.sites. Inside a domain the receiver copies out of the sender's receive slots.
struct TrafficEdge {
  uint32_t from = 0;
  uint32_t to = 0;
  int64_t bytes = 0;
  int64_t messages = 0;  // over the network; 0 inside a domain
};

// By (from, to), each pair once. `plan` has passed the bounds rules of LoadPlan; ranks without a
// site are passed over.
std::vector<TrafficEdge> RankTraffic(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_RANK_TRAFFIC_H_
