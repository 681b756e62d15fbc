// Cut witnesses: bytes that must pass NICs in one direction, whatever the schedule.
//
// Ingress of a domain: the bytes that its ranks need and none of its ranks holds, over all its
// NICs. Of several domains: the sum of theirs, as each receives for itself. Injection of a set of domains: the bytes, once each, whose every holder is in the set and
// that some rank outside needs, over all NICs of the set.
#ifndef RESHARD_COMPILER_ROUTE_WITNESSES_H_
#define RESHARD_COMPILER_ROUTE_WITNESSES_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/route/routing.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

// The ingress of every domain and of domains that share NICs, the injection of every domain and of all domains with holders
// together; only the kMaxWitnesses tightest, tightest first.
inline constexpr size_t kMaxWitnesses = 64;
std::vector<CutWitness> FindWitnesses(const TransferSet& transfers, const Topology& topology,
                                      RankSetFactsTable* facts);

// bytes / bytes_per_s in nanoseconds, rounded down.
int64_t WitnessNs(const CutWitness& witness);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_WITNESSES_H_
