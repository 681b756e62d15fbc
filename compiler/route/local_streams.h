// Local streams: what the holders of a domain bring to its own needers.
//
// Needers copy from one rank of their domain, the lander. As long as that keeps no scale-up port
// busier than the bound allows, needers that hold bytes land them, or else all holders in equal
// parts. Where that is too much, the bytes are dealt anew so that the scale-up ports of the domain
// are about equally busy: over all holders; and where these would still send most of the time what
// others could pass on, needers land parts, too, which a holder hands to them. One holder of what
// seven others need sends it once in place of seven times.
#ifndef RESHARD_COMPILER_ROUTE_LOCAL_STREAMS_H_
#define RESHARD_COMPILER_ROUTE_LOCAL_STREAMS_H_

#include <vector>

#include "compiler/route/streams.h"

namespace reshard {

// Appends them to the network streams. Each serves one domain and has one lander.
void AddLocalStreams(const StreamInputs& inputs, std::vector<DraftStream>* streams);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_LOCAL_STREAMS_H_
