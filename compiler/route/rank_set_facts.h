// What routing asks of a rank set, found once per set: where its ranks are and which of them may
// use the network.
#ifndef RESHARD_COMPILER_ROUTE_RANK_SET_FACTS_H_
#define RESHARD_COMPILER_ROUTE_RANK_SET_FACTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/route/ports.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// Ranks grouped by domain: those of domains[i] are ranks[first[i] .. first[i + 1]), rising.
struct RanksByDomain {
  std::vector<DomainId> domains;  // rising
  std::vector<uint32_t> first;    // one more at the end
  std::vector<Rank> ranks;

  size_t Find(DomainId domain) const;  // domains.size() when absent
  RankList RanksOf(size_t index) const {
    return RankList(ranks.begin() + first[index], ranks.begin() + first[index + 1]);
  }
};
RanksByDomain GroupByDomain(const Topology& topology, const Ports& ports, const RankList& ranks);

struct RankSetFacts {
  RankList unplaced;  // ranks that the topology does not know; the rest describes the others
  RanksByDomain by_domain;
  RankList networked;  // with a NIC
};

// Computes the facts of a set when they are first asked for.
class RankSetFactsTable {
 public:
  RankSetFactsTable(const Topology& topology, const Ports& ports, const RankSetTable& sets)
      : topology_(&topology), ports_(&ports), sets_(&sets), facts_(sets.count()) {}
  const RankSetFacts& operator[](RankSetId id);

 private:
  const Topology* topology_;
  const Ports* ports_;
  const RankSetTable* sets_;
  std::vector<std::unique_ptr<RankSetFacts>> facts_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_RANK_SET_FACTS_H_
