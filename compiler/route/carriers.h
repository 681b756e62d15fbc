// Carriers: bytes that leave a domain by the NIC of a rank that does not hold them.
//
// A holder hands them over inside the domain, and the carrier passes them on to the landers: it is
// the head of their trees, and the source's NIC carries nothing. Holders without a NIC need one;
// with StreamInputs::pool holders whose NICs are busier than those around them get some, too. Where
// the domain needs the bytes itself, the carrier lands them for it.
#ifndef RESHARD_COMPILER_ROUTE_CARRIERS_H_
#define RESHARD_COMPILER_ROUTE_CARRIERS_H_

#include <vector>

#include "compiler/route/streams.h"

namespace reshard {

// Replaces each network stream by the part without a carrier, which stays in its place, and one for
// each of its carriers. Local streams lose what a carrier lands.
void AddCarriers(const StreamInputs& inputs, std::vector<DraftStream>* streams);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_CARRIERS_H_
