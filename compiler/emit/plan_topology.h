// FillTopology: the part of a topology that a plan keeps.
#ifndef RESHARD_COMPILER_EMIT_PLAN_TOPOLOGY_H_
#define RESHARD_COMPILER_EMIT_PLAN_TOPOLOGY_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "runtime/plan/plan.h"

namespace reshard {

// The plan's number of each domain and group of the topology; kNoId where it is left out.
struct TopologyNumbers {
  std::vector<uint32_t> domains, groups;
};

// Fills `plan`'s nics, domains, groups, sites and fabric, all empty before: every site of the
// domains in which one of plan->ranks lives, as a domain's capacity is that of all its NICs. All of
// plan->ranks have a site. Returns the plan's numbers.
TopologyNumbers FillTopology(const Topology& topology, Plan* plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_PLAN_TOPOLOGY_H_
