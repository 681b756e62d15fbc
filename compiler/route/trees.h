// Trees: along which chains of domains each stream goes, and how many chains it has.
//
// More chains are shorter and fill sooner, but each needs the stream's bytes from the sources
// again.
#ifndef RESHARD_COMPILER_ROUTE_TREES_H_
#define RESHARD_COMPILER_ROUTE_TREES_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/ports.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/route/routing.h"
#include "compiler/route/streams.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

// A run of a stream's bytes that one set of ranks holds: bytes[first .. first + count).
struct HolderRun {
  RankSetId holders = 0;
  uint32_t first = 0;
  uint32_t count = 0;
  int64_t bytes = 0;
};
std::vector<HolderRun> HolderRuns(const TransferSet& transfers, const DraftStream& stream);

struct TreeInputs {
  const TransferSet* transfers = nullptr;
  const Topology* topology = nullptr;
  const Ports* ports = nullptr;
  RankSetFactsTable* facts = nullptr;
  const std::vector<DraftStream>* streams = nullptr;
};

// Per stream: its chains, each a list of landers from the head on. A local stream has one of one.
// Neighbours of a chain are of one group and near each other in the topology; slow NICs come last.
// Chains of different streams avoid having two ranks follow each other twice.
using Chains = std::vector<std::vector<std::vector<Rank>>>;

// Chains of `options.heads` trees per stream, or of as many as come out best where that is 0.
Chains BuildChains(const TreeInputs& inputs, const RouteOptions& options);

// Adds what landers forward.
void AddRelays(const TreeInputs& inputs, const Chains& chains, PortBytes* sent);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_TREES_H_
