// Chains: the landers of one stream put in order and cut into chains of nearly equal length, or put
// into two orders for binary trees.
#ifndef RESHARD_COMPILER_ROUTE_CHAINS_H_
#define RESHARD_COMPILER_ROUTE_CHAINS_H_

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/ports.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// Pairs (parent, child) in use, for lookup only.
class UsedEdges {
 public:
  bool Has(Rank parent, Rank child) const { return edges_.count(Key(parent, child)) != 0; }
  void Add(Rank parent, Rank child) { edges_.insert(Key(parent, child)); }

  bool HasHead(Rank head) const { return heads_.count(head) != 0; }
  void AddHead(Rank head) { heads_.insert(head); }

 private:
  static uint64_t Key(Rank parent, Rank child) { return uint64_t{parent} << 32 | child; }
  std::unordered_set<uint64_t> edges_;
  std::unordered_set<Rank> heads_;
};

// `landers`: one rank per domain, at least chain_count. Ranks of one group and near domains follow
// each other, ranks with slower NICs come after those with faster ones. Where uplinks limit, groups
// stay together before all else, and chains end where groups end. Of a few such orders the one that
// repeats the fewest edges and heads of `used`, to which its own are added: a rank that heads
// several streams would often want two messages of one source in the same round.
std::vector<std::vector<Rank>> MakeChains(const Topology& topology, const Ports& ports,
                                          const std::vector<Rank>& landers, size_t chain_count,
                                          UsedEdges* used);

// The landers of two binary trees (positions as in PlanTreeKind::kBinary): the second order is the
// first one backwards, so that no lander has children in both. Edges are avoided as for chains.
std::pair<std::vector<Rank>, std::vector<Rank>> MakeTwoTrees(const Topology& topology,
                                                             const Ports& ports,
                                                             const std::vector<Rank>& landers,
                                                             UsedEdges* used);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_CHAINS_H_
