#include "compiler/moves_plan.h"

#include <algorithm>

#include "compiler/emit/plan_topology.h"

namespace reshard {
namespace {

// Ranks that send, land, or copy what landed: all that a simulation follows.
RankList MovingRanks(const TransferSet& transfers, const Schedule& schedule) {
  RankList ranks = schedule.tree_members;
  for (const PlanInject& inject : schedule.injects) {
    if (ranks.empty() || ranks.back() != inject.source) ranks.push_back(inject.source);
  }
  std::vector<bool> seen(transfers.rank_sets.count(), false);
  for (const TransferClass& cls : transfers.classes) {
    if (seen[cls.needers]) continue;
    seen[cls.needers] = true;
    const RankList& needers = transfers.rank_sets[cls.needers];
    ranks.insert(ranks.end(), needers.begin(), needers.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

Plan MovesPlan(const TransferSet& transfers, const Topology& topology, const Schedule& schedule) {
  Plan plan;
  for (RankSetId set = 0; set < transfers.rank_sets.count(); ++set) {
    plan.rank_sets.push_back(transfers.rank_sets[set]);
  }
  for (const TransferClass& cls : transfers.classes) {
    plan.classes.push_back({cls.holders, cls.needers, cls.bytes, 0, 0});
  }
  plan.streams = schedule.streams;
  plan.pieces = schedule.pieces;
  plan.trees = schedule.trees;
  plan.tree_members = schedule.tree_members;
  plan.injects = schedule.injects;
  auto slots = schedule.slots.begin();
  uint32_t next = 0;
  for (const Rank rank : MovingRanks(transfers, schedule)) {
    PlanRank entry;
    entry.rank = rank;
    entry.first_inject = next;
    while (next < plan.injects.size() && plan.injects[next].source == rank) ++next;
    entry.inject_count = next - entry.first_inject;
    while (slots != schedule.slots.end() && slots->rank < rank) ++slots;
    if (slots != schedule.slots.end() && slots->rank == rank) {
      entry.recv_slot_bytes = slots->recv_slot_bytes;
      entry.pack_slot_bytes = slots->pack_slot_bytes;
    }
    plan.ranks.push_back(entry);
  }
  FillTopology(topology, &plan);
  plan.header.totals.rounds = schedule.round_count;
  return plan;
}

}  // namespace reshard
