// Direct streams merged: one stream for each lander and a few of its sources.
//
// Where every lander is a head, nothing is forwarded, and a stream that many landers share has no
// use: its slices come from a few sources each, so that it takes several rounds even when its bytes
// are few. One message from each source to each lander needs the fewest
// rounds, and jobs that a round's cost decides want nothing else.
#ifndef RESHARD_COMPILER_ROUTE_MERGE_DIRECT_H_
#define RESHARD_COMPILER_ROUTE_MERGE_DIRECT_H_

#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"

namespace reshard {

// Every tree has one lander, or a carrier and one. Loads and witnesses stay the same.
Routing MergeDirect(const Topology& topology, const Routing& routing);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_MERGE_DIRECT_H_
