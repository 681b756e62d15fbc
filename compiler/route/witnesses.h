// Cut witnesses: bytes that must pass some ports in one direction, whatever the schedule.
//
// Looked for where they can be tight; the verifier evaluates each again. What each kind claims:
// docs/plan.md.
#ifndef RESHARD_COMPILER_ROUTE_WITNESSES_H_
#define RESHARD_COMPILER_ROUTE_WITNESSES_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/route/routing.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

// The tightest of each kind, at most kMaxWitnessesOfKind; the tightest of all first.
inline constexpr size_t kMaxWitnessesOfKind = 24;
std::vector<CutWitness> FindWitnesses(const TransferSet& transfers, const Topology& topology,
                                      RankSetFactsTable* facts);

// bytes / bytes_per_s in nanoseconds, rounded down.
int64_t WitnessNs(const CutWitness& witness);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_WITNESSES_H_
