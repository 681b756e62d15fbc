#include "compiler/schedule/ledger.h"

#include <algorithm>
#include <cstdint>

#include "compiler/schedule/tree_levels.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

Ledger::Ledger(const Ports& ports, const std::vector<ScheduledTree>& trees,
               const std::vector<int64_t>& recv_bytes)
    : ports_(ports), trees_(trees), sends_(recv_bytes.size()) {
  FindWatched(recv_bytes);
  FindEffects();
  FindSharedPairs();
  busy_.resize(horizon_);
  last_refusals_.assign(trees.size(), 0);
  for (const ScheduledTree& tree : trees) {
    int64_t& least = least_extents_.emplace_back(INT64_MAX);
    for (const DraftSlice& slice : tree.slices) least = std::min(least, slice.extent);
  }
}

void Ledger::FindWatched(const std::vector<int64_t>& recv_bytes) {
  const size_t site_count = recv_bytes.size();
  steady_ops_.assign(site_count, 0);
  std::vector<int64_t> steady_bytes(site_count, 0);
  std::vector<bool> sends(site_count, false);
  for (const ScheduledTree& tree : trees_) {
    if (tree.local) continue;
    int64_t widest = 0;
    uint32_t most_portions = 1;
    for (const DraftSlice& slice : tree.slices) {
      widest = std::max(widest, slice.extent);
      most_portions = std::max(most_portions, slice.portion_count);
    }
    for (const SourceRun& run : tree.runs) sends[ports_.site(run.source)] = true;
    for (uint32_t p = 0; p < tree.members.size(); ++p) {
      const SiteId site = ports_.site(tree.members[p]);
      steady_ops_[site] += p == 0 ? most_portions : 1;
      if (p > 0) ++steady_ops_[ports_.site(tree.members[TreeParent(tree.kind, p)])];
      steady_bytes[site] += widest;
    }
    const auto levels = static_cast<uint32_t>(LevelCount(tree.kind, tree.members.size()));
    horizon_ = std::max(horizon_, levels + 1);
  }
  watched_.assign(site_count, kNone);
  uint32_t count = 0;
  for (SiteId site = 0; site < site_count; ++site) {
    const bool many_ops = steady_ops_[site] + (sends[site] ? 1 : 0) > kMaxOpsPerRound;
    if (!many_ops && steady_bytes[site] <= recv_bytes[site]) continue;
    watched_[site] = count++;
    watched_bytes_.push_back(recv_bytes[site]);
  }
  loads_.resize(size_t{count} * horizon_);
}

void Ledger::FindEffects() {
  effects_.resize(trees_.size());
  for (size_t t = 0; t < trees_.size(); ++t) {
    const ScheduledTree& tree = trees_[t];
    if (tree.local) continue;
    std::vector<Effect>& effects = effects_[t];
    for (uint32_t p = 0; p < tree.members.size(); ++p) {
      const uint32_t watched = watched_[ports_.site(tree.members[p])];
      if (watched != kNone) effects.push_back({watched, TreeDepth(tree.kind, p), true, p == 0, 1});
    }
    uint32_t last_parent = kNone;  // children of one parent stand together
    for (uint32_t p = 1; p < tree.members.size(); ++p) {
      const uint32_t parent = TreeParent(tree.kind, p);
      const uint32_t watched = watched_[ports_.site(tree.members[parent])];
      if (watched == kNone) continue;
      if (parent == last_parent) {
        ++effects.back().messages;
      } else {
        effects.push_back({watched, TreeDepth(tree.kind, p), false, false, 1});
      }
      last_parent = parent;
    }
  }
}

void Ledger::FindSharedPairs() {
  struct Use {
    uint64_t key;
    uint32_t tree;
    uint32_t delay;  // 0: from a source
  };
  std::vector<Use> uses;
  for (uint32_t t = 0; t < trees_.size(); ++t) {
    const ScheduledTree& tree = trees_[t];
    if (tree.local) continue;
    for (uint32_t p = 1; p < tree.members.size(); ++p) {
      uses.push_back({PairKey(tree.members[TreeParent(tree.kind, p)], tree.members[p]), t,
                      TreeDepth(tree.kind, p)});
    }
    std::vector<Rank> sources;
    for (const SourceRun& run : tree.runs) sources.push_back(run.source);
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    for (const Rank source : sources) uses.push_back({PairKey(source, tree.members[0]), t, 0});
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return a.key != b.key ? a.key < b.key : a.tree < b.tree;
  });
  forwards_.resize(trees_.size());
  for (size_t i = 0; i < uses.size();) {
    size_t end = i + 1;
    while (end < uses.size() && uses[end].key == uses[i].key) ++end;
    if (end - i > 1) {
      const auto pair = static_cast<uint32_t>(shared_pairs_.size());
      shared_pairs_.emplace(uses[i].key, pair);
      for (size_t u = i; u < end; ++u) {
        if (uses[u].delay > 0) forwards_[uses[u].tree].push_back({pair, uses[u].delay});
      }
    }
    i = end;
  }
}

uint32_t Ledger::PairId(Rank source, Rank destination) const {
  if (shared_pairs_.empty()) return kNone;
  const auto found = shared_pairs_.find(PairKey(source, destination));
  return found == shared_pairs_.end() ? kNone : found->second;
}

Ledger::Load& Ledger::At(uint32_t watched, uint32_t round) {
  Load& load = loads_[size_t{watched} * horizon_ + round % horizon_];
  if (load.round != round) load = {round, 0, 0};
  return load;
}

Ledger::Load& Ledger::SendsOf(SiteId site, uint32_t round) {
  Load& load = watched_[site] == kNone ? sends_[site] : At(watched_[site], round);
  if (load.round != round) load = {round, 0, 0};
  return load;
}

Ledger::BusyPairs& Ledger::BusyIn(uint32_t round) {
  BusyPairs& busy = busy_[round % horizon_];
  if (busy.round != round) {
    busy.round = round;
    busy.pairs.clear();
  }
  return busy;
}

bool Ledger::HasRoom(const Effect& effect, uint32_t head_ops, int64_t extent, uint32_t round) {
  const Load& load = At(effect.watched, round + effect.delay);
  if (load.ops + (effect.is_head ? head_ops : effect.messages) > kMaxOpsPerRound) return false;
  return !effect.receives || load.bytes == 0 ||
         load.bytes + extent <= watched_bytes_[effect.watched];
}

// Have the ranks of a tree room for a slice, and no other message between the same two?
bool Ledger::HaveRoom(uint32_t tree, uint32_t head_ops, int64_t extent, uint32_t round) {
  const std::vector<Effect>& effects = effects_[tree];
  // What had no room in the round before mostly has none in this one.
  uint32_t& last = last_refusals_[tree];
  if (!effects.empty() && !HasRoom(effects[last], head_ops, extent, round)) return false;
  for (uint32_t i = 0; i < effects.size(); ++i) {
    if (HasRoom(effects[i], head_ops, extent, round)) continue;
    last = i;
    return false;
  }
  return std::none_of(forwards_[tree].begin(), forwards_[tree].end(), [&](const Forward& forward) {
    return IsBusy(forward.pair, round + forward.delay);
  });
}

bool Ledger::MayStart(uint32_t tree, uint32_t round) {
  return HaveRoom(tree, 1, least_extents_[tree], round);
}

bool Ledger::Fits(uint32_t tree, const DraftSlice& slice, uint32_t round) {
  const ScheduledTree& facts = trees_[tree];
  for (uint32_t i = 0; i < slice.portion_count; ++i) {
    const Rank source = facts.portions[slice.first_portion + i].source;
    const SiteId site = ports_.site(source);
    const uint32_t others = watched_[site] == kNone ? steady_ops_[site] : 0;
    if (SendsOf(site, round).ops + others >= kMaxOpsPerRound) return false;
    const uint32_t pair = PairId(source, facts.members[0]);
    if (pair != kNone && IsBusy(pair, round)) return false;
  }
  return HaveRoom(tree, slice.portion_count, slice.extent, round);
}

void Ledger::Take(uint32_t tree, const DraftSlice& slice, uint32_t round) {
  const ScheduledTree& facts = trees_[tree];
  for (uint32_t i = 0; i < slice.portion_count; ++i) {
    const Rank source = facts.portions[slice.first_portion + i].source;
    ++SendsOf(ports_.site(source), round).ops;
    const uint32_t pair = PairId(source, facts.members[0]);
    if (pair != kNone) BusyIn(round).pairs.insert(pair);
  }
  for (const Forward& forward : forwards_[tree]) {
    BusyIn(round + forward.delay).pairs.insert(forward.pair);
  }
  for (const Effect& effect : effects_[tree]) {
    Load& load = At(effect.watched, round + effect.delay);
    load.ops += effect.is_head ? slice.portion_count : effect.messages;
    if (effect.receives) load.bytes += slice.extent;
  }
}

}  // namespace reshard
