// Measures: what can be said of a routing before it is scheduled.
#ifndef RESHARD_COMPILER_ROUTING_MEASURES_H_
#define RESHARD_COMPILER_ROUTING_MEASURES_H_

#include <cstdint>

#include "compiler/layout/topology.h"
#include "compiler/route/ports.h"
#include "compiler/route/routing.h"

namespace reshard {

// Ranks that a rank exchanges messages with, of the rank with most of them.
uint32_t MostPeers(const Routing& routing);

// Has any source bytes of several streams for one lander? It has one message for it in a round, so
// that they take turns.
bool StreamsShareMessages(const Routing& routing);

// Does any rank get bytes inside its domain to pass them on?
bool HasCarriers(const Topology& topology, const Routing& routing);

// What the busiest NIC takes for its bytes alone: of those that it sends, or of either direction.
int64_t BusiestPortNs(const Topology& topology, const Routing& routing, bool sending_only);

// What the last lander of a tree takes at least, of the slowest tree, whatever the size of its
// slices, when they are equal. `round_ns`: the cost of a round. Trees that begin inside a domain
// fill faster, and are left out.
int64_t LeastNs(const Ports& ports, const Routing& routing, int64_t round_ns);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTING_MEASURES_H_
