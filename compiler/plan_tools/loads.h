// PlanLoads: what every rank, NIC and domain sends and receives, added up from a plan's trees.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_LOADS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_LOADS_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

struct PortLoads {
  int64_t send_bytes = 0;
  int64_t receive_bytes = 0;
};

struct DomainLoads {
  int64_t ranks = 0;
  int64_t needed_bytes = 0;  // bytes of classes that it needs and does not hold, each once
  PortLoads network;         // over the NICs of its ranks
};

struct PlanLoads {
  std::vector<PortLoads> sites;  // network bytes per entry of plan.sites
  std::vector<PortLoads> nics;   // a rank's bytes are spread over its NICs by bandwidth
  std::vector<DomainLoads> domains;
};

PlanLoads ComputeLoads(const Plan& plan);

// Per rank set of the plan, the domains of its ranks.
std::vector<std::vector<uint32_t>> DomainsOfSets(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_LOADS_H_
