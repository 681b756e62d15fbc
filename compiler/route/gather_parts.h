// Gathering: fewer and larger parts of a flow.
//
// Water-filling gives each of a thousand holders a little. A slice has few sources, so that parts
// much smaller than a slice leave rounds unfilled, and every source is one more peer of the head:
// where ports have time to spare, fewer holders send more each.
#ifndef RESHARD_COMPILER_ROUTE_GATHER_PARTS_H_
#define RESHARD_COMPILER_ROUTE_GATHER_PARTS_H_

#include <cstdint>

#include "compiler/route/ports.h"
#include "compiler/route/water_fill.h"

namespace reshard {

// Brings the small parts of a flow together. `sent` holds the flow's present parts, and the new
// ones afterwards; no port comes to be busy for longer than `busy_ps`, what the busiest port takes.
// Flows through outlets of different rates stay as they are.
void GatherParts(const Ports& ports, int64_t busy_ps, Flow* flow, PortBytes* sent);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_GATHER_PARTS_H_
