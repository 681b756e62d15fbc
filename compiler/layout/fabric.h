// The fabric between the nodes: its rails, and the uplinks of its groups.
#ifndef RESHARD_COMPILER_LAYOUT_FABRIC_H_
#define RESHARD_COMPILER_LAYOUT_FABRIC_H_

#include <cstdint>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/topo_spec.h"
#include "compiler/layout/node_table.h"
#include "compiler/layout/topology.h"

namespace reshard {

// Rails of the fabric: as stated, else one more than the highest of a NIC; 1 without rails.
uint32_t RailCount(const TopoSpec& spec);

// Reports rails of a fabric without them and NICs that are on none; groups and oversubscription
// that do not go together.
void CheckFabric(const TopoSpec& spec, Diagnostics* diags);

// The groups of the fabric with the capacity of their uplinks. Reports one that overflows.
void AddGroups(const TopoSpec& spec, const NodeTable& nodes, Diagnostics* diags, Topology* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_FABRIC_H_
