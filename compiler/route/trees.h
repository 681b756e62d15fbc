// Trees: along which trees of domains each stream goes, and how many trees it has.
//
// Chains: more of them are shorter and fill sooner, but each needs the stream's bytes from the
// sources again. Two trees: each half of a stream takes a binary tree of its own over the same
// landers; who passes on in one tree is a leaf of the other, so that every lander sends about what
// it receives, and both are only log2 deep. Stars: one rank sends its part of a stream to all
// (hubs.h).
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

// A tree without its sources.
struct BareTree {
  PlanTreeKind kind = PlanTreeKind::kChain;
  std::vector<Rank> landers;  // by position
};
// Per stream. A local stream has one tree of one lander.
// Neighbours of a chain are of one group and near each other in the topology; slow NICs come last.
// Trees of different streams avoid having two ranks follow each other twice.
using StreamTrees = std::vector<std::vector<BareTree>>;

// `options` with a strategy of two trees or hubs asks for streams that were split for it. Without
// heads, as many chains as come out best by an estimate.
StreamTrees BuildTrees(const TreeInputs& inputs, const RouteOptions& options);

// Adds what landers forward.
void AddRelays(const TreeInputs& inputs, const StreamTrees& trees, PortBytes* sent);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_TREES_H_
