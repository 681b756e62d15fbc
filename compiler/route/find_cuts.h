// Where cut witnesses are looked for: domains and their NICs, groups and their uplinks, single
// ranks.
#ifndef RESHARD_COMPILER_ROUTE_FIND_CUTS_H_
#define RESHARD_COMPILER_ROUTE_FIND_CUTS_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/route/routing.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

struct CutInputs {
  const TransferSet* transfers = nullptr;
  const Topology* topology = nullptr;
  RankSetFactsTable* facts = nullptr;
};

// Each appends the cuts of its kinds that have bytes and bandwidth, in any order.

// Ingress of every domain and of domains that share NICs; injection from every domain, from all
// that hold anything, and from those that are busiest when what has several holders is sent evenly.
void FindDomainCuts(const CutInputs& inputs, std::vector<CutWitness>* out);
// Ingress and egress of groups, and of groups that domains join; egress also of the busiest groups
// together. Copies, where the topology says what the whole fabric carries.
void FindFabricCuts(const CutInputs& inputs, std::vector<CutWitness>* out);
// What a GPU of a domain needs or alone holds, over its scale-up port and its NICs; ingress also of
// all GPUs of a domain that share NICs.
void FindRankCuts(const CutInputs& inputs, std::vector<CutWitness>* out);

// What the NICs of some ranks carry: at most the NICs together, and at most the ways of the GPUs to
// them together. Ranks without a place or NIC carry nothing.
int64_t NicRateOf(const Topology& topology, const RankList& ranks);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_FIND_CUTS_H_
