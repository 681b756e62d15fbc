// Chains: the landers of one stream put in order and cut into chains of nearly equal length, or put
// into two orders for binary trees.
#ifndef RESHARD_COMPILER_ROUTE_CHAINS_H_
#define RESHARD_COMPILER_ROUTE_CHAINS_H_

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/ports.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// Messages that slices of streams take, for lookup only: edges (parent, child) of trees, and what
// the senders of a stream, rising, may send to its heads.
class UsedEdges {
 public:
  bool Has(Rank parent, Rank child) const { return edges_.count(Key(parent, child)) != 0; }
  void Add(Rank parent, Rank child) {
    if (edges_.insert(Key(parent, child)).second) parents_[child].push_back(parent);
  }

  bool HasHead(Rank head) const { return senders_.count(head) != 0; }
  // `senders` has to stay where it is.
  void AddHead(Rank head, const RankList& senders) { senders_[head].push_back(&senders); }

  // May `parent` also send a stream to `child` as its head?
  bool IsSent(Rank parent, Rank child) const {
    const auto found = senders_.find(child);
    return found != senders_.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](const RankList* senders) { return Contains(*senders, parent); });
  }
  // Does any of `senders` pass other streams on to `head`?
  bool IsPassedOn(const RankList& senders, Rank head) const {
    const auto found = parents_.find(head);
    return found != parents_.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [&](Rank parent) { return Contains(senders, parent); });
  }

 private:
  static uint64_t Key(Rank parent, Rank child) { return uint64_t{parent} << 32 | child; }
  std::unordered_set<uint64_t> edges_;
  std::unordered_map<Rank, RankList> parents_;
  std::unordered_map<Rank, std::vector<const RankList*>> senders_;
};

// `landers`: one rank per domain, at least chain_count. Ranks of one group and near domains follow
// each other, ranks with slower NICs come after those with faster ones. Where uplinks limit, groups
// stay together before all else, and chains end where groups end. Of a few such orders the one that
// repeats the fewest edges and heads of `used`, to which its own are added: a rank that heads
// several streams would often want two messages of one source in the same round. `senders`: ranks
// that may send to the heads and land other streams, where one message would have to wait for the
// other. They have to outlive `used`.
std::vector<std::vector<Rank>> MakeChains(const Topology& topology, const Ports& ports,
                                          const std::vector<Rank>& landers, size_t chain_count,
                                          const RankList& senders, UsedEdges* used);

// By group: where a stream's bytes enter each group once, or not at all where it has holders. Each
// of these groups has chains of its own, and the others follow behind the ones whose ways out are
// least busy. `chain_count` is the least number of chains.
struct GroupWays {
  std::vector<GroupId> from_groups;  // of the holders, rising, not empty
  int64_t bytes = 0;
  const RankList& senders;       // as of MakeChains
  PortBytes* uplinks = nullptr;  // of all streams so far; this one's are added
};
std::vector<std::vector<Rank>> MakeGroupChains(const Topology& topology, const Ports& ports,
                                               const std::vector<Rank>& landers, size_t chain_count,
                                               const GroupWays& ways, UsedEdges* used);

// The landers of two binary trees (positions as in PlanTreeKind::kBinary): the second order is the
// first one backwards, so that no lander has children in both. Edges are avoided as for chains.
std::pair<std::vector<Rank>, std::vector<Rank>> MakeTwoTrees(const Topology& topology,
                                                             const Ports& ports,
                                                             const std::vector<Rank>& landers,
                                                             const RankList& senders,
                                                             UsedEdges* used);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_CHAINS_H_
