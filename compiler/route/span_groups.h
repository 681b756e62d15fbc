// Do domains reach from one group of hosts into another? Their ranks are behind different uplinks.
#ifndef RESHARD_COMPILER_ROUTE_SPAN_GROUPS_H_
#define RESHARD_COMPILER_ROUTE_SPAN_GROUPS_H_

#include <algorithm>

#include "compiler/layout/topology.h"
#include "runtime/base/rank_set.h"

namespace reshard {

inline bool DomainsSpanGroups(const Topology& topology) {
  return std::any_of(topology.domains.begin(), topology.domains.end(), [&](const Domain& domain) {
    if (domain.ranks.empty()) return false;  // of hosts without ranks
    const GroupId first = topology.Site(domain.ranks[0])->group;
    return std::any_of(domain.ranks.begin(), domain.ranks.end(),
                       [&](Rank rank) { return topology.Site(rank)->group != first; });
  });
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_SPAN_GROUPS_H_
