#include "compiler/schedule/slots.h"

#include <algorithm>

#include "compiler/schedule/tree_levels.h"

namespace reshard {
namespace {

// Slices of all trees by the round they start in.
struct Start {
  uint32_t tree = 0;
  uint32_t slice = 0;
};
std::vector<std::vector<Start>> StartsByRound(const std::vector<ScheduledTree>& trees) {
  std::vector<std::vector<Start>> starts;
  for (uint32_t t = 0; t < trees.size(); ++t) {
    for (uint32_t s = 0; s < trees[t].slices.size(); ++s) {
      const uint32_t round = trees[t].rounds[s];
      if (round >= starts.size()) starts.resize(round + size_t{1});
      starts[round].push_back({t, s});
    }
  }
  return starts;
}

// The greatest sum of one round, per site.
class Peak {
 public:
  explicit Peak(size_t site_count) : now_(site_count, 0), peak_(site_count, 0) {}
  void Add(SiteId site, int64_t bytes) {
    if (now_[site] == 0) touched_.push_back(site);
    now_[site] += bytes;
  }
  void EndRound() {
    for (const SiteId site : touched_) {
      peak_[site] = std::max(peak_[site], now_[site]);
      now_[site] = 0;
    }
    touched_.clear();
  }
  int64_t peak(SiteId site) const { return peak_[site]; }

 private:
  std::vector<int64_t> now_, peak_;
  std::vector<SiteId> touched_;
};

}  // namespace

std::vector<RankSlots> FindSlots(const Topology& topology, const Ports& ports,
                                 const std::vector<ScheduledTree>& trees) {
  const std::vector<std::vector<Start>> starts = StartsByRound(trees);
  std::vector<std::vector<SiteId>> members;  // per tree
  size_t deepest = 0;
  for (const ScheduledTree& tree : trees) {
    std::vector<SiteId>& sites = members.emplace_back();
    for (const Rank member : tree.members) sites.push_back(ports.site(member));
    deepest = std::max(deepest, LevelCount(tree.kind, tree.members.size()));
  }
  Peak received(topology.sites.size()), packed(topology.sites.size());
  for (size_t round = 0; round < starts.size() + deepest; ++round) {
    for (size_t depth = 0; depth < deepest && depth <= round; ++depth) {
      if (round - depth >= starts.size()) continue;
      for (const Start& start : starts[round - depth]) {
        const ScheduledTree& tree = trees[start.tree];
        const TreeLevel level = LevelOf(tree.kind, depth, tree.members.size());
        for (size_t p = level.first; p < level.last; ++p) {
          received.Add(members[start.tree][p], AlignedToSlot(tree.slices[start.slice].extent));
        }
      }
    }
    received.EndRound();
    if (round >= starts.size()) continue;
    for (const Start& start : starts[round]) {
      const ScheduledTree& tree = trees[start.tree];
      if (tree.local) continue;
      const DraftSlice& slice = tree.slices[start.slice];
      for (uint32_t i = 0; i < slice.portion_count; ++i) {
        const SourceRun& portion = tree.portions[slice.first_portion + i];
        packed.Add(ports.site(portion.source), AlignedToSlot(portion.extent));
      }
    }
    packed.EndRound();
  }
  std::vector<RankSlots> slots;
  for (SiteId site = 0; site < topology.sites.size(); ++site) {
    const RankSlots facts{topology.sites[site].rank, received.peak(site), packed.peak(site)};
    if (facts.recv_slot_bytes + facts.pack_slot_bytes > 0) slots.push_back(facts);
  }
  return slots;
}

}  // namespace reshard
