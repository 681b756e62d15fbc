#include "compiler/schedule/order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/route/round_cost.h"
#include "compiler/schedule/interleave.h"

namespace reshard {
namespace {

// Wide bytes come in so many runs that handing one on takes at most this part of a round.
constexpr int64_t kWidePart = 4;
// Pieces of a local stream that needers take in turn: the size of plans.
constexpr int64_t kMostTurnPieces = 2048;

// A slice ends where a source comes for the second time, so that chunks which are a little smaller
// than slices may be become slices, whatever the permitted cuts.
constexpr int64_t kSpareChunks = 64;
// With fewer chunks the spare one alone would be many more rounds.
constexpr int64_t kFewestChunks = 32;

int64_t BytesOf(const std::vector<ClassRange>& ranges) {
  int64_t bytes = 0;
  for (const ClassRange& range : ranges) bytes += range.extent;
  return bytes;
}

// What each NIC sends of a stream.
struct NicLine {
  std::vector<Rank> sources;
  std::vector<ClassRange> bytes;
};
std::map<OutletId, NicLine> LinesOf(const Ports& ports, const RoutedStream& stream,
                                    const std::vector<SourceRun>& runs) {
  std::map<OutletId, NicLine> lines;
  for (const SourceRange& piece : CutAtRuns(stream, runs)) {
    NicLine& line = lines[ports.outlet_of_rank(piece.source)];
    line.bytes.push_back(piece.range);
    std::vector<Rank>& sources = line.sources;
    if (std::find(sources.begin(), sources.end(), piece.source) == sources.end()) {
      sources.push_back(piece.source);
    }
  }
  return lines;
}

}  // namespace

StreamOrder::StreamOrder(const TransferSet& transfers, const Topology& topology, const Ports& ports,
                         const ClassCuts& cuts, const Routing& routing,
                         const std::vector<ScheduledTree>& trees, int64_t busy_ps,
                         int64_t fewest_rounds)
    : transfers_(transfers),
      topology_(topology),
      ports_(ports),
      cuts_(cuts),
      routing_(routing),
      busy_ps_(busy_ps),
      copies_decide_(FindCopyingDomains()) {
  const bool any_carried = std::any_of(trees.begin(), trees.end(), IsPassedOnByCarrier);
  size_t next_tree = 0;
  for (const RoutedStream& stream : routing.streams) {
    Change& change = changes_of_.emplace_back(ChangeOf(stream));
    if (!stream.local && !change.any()) {
      change.small_sources = FindSmallSources(stream, trees[next_tree].runs, fewest_rounds);
    }
    const bool one_tree = !stream.local && stream.trees.size() == 1 && !trees[next_tree].carried;
    const bool even = change.lanes > 1 || any_carried;
    if (one_tree && even && change.is_wide.empty() && change.small_sources.small.empty()) {
      change.lines = LinesFor(stream, trees[next_tree].runs);
    }
    changes_ = changes_ || change.any();
    next_tree += stream.trees.size();
  }
}

// Where all local bytes one after the other through one port take longer than the network does, and
// than a round costs.
std::vector<bool> StreamOrder::FindCopyingDomains() const {
  std::vector<int64_t> local_bytes(topology_.domains.size(), 0);
  for (const RoutedStream& stream : routing_.streams) {
    if (stream.local) local_bytes[stream.domains[0]] += BytesOf(stream.bytes);
  }
  std::vector<bool> decide;
  for (DomainId domain = 0; domain < local_bytes.size(); ++domain) {
    const int64_t rate = topology_.domains[domain].bytes_per_s;
    const int64_t least_ps = std::max(busy_ps_, topology_.round_ns * 1000);
    decide.push_back(rate > 0 && PicosecondsFor(local_bytes[domain], rate) > least_ps);
  }
  return decide;
}

// The bytes by who needs them. Each lander begins with another needer: those that follow it.
std::vector<std::vector<ClassRange>> StreamOrder::TurnsOf(const RoutedStream& stream) const {
  const Rank lander = stream.trees[0].landers[0];
  const RankList& ranks = topology_.domains[stream.domains[0]].ranks;
  const auto place = [&](Rank rank) {
    return static_cast<size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  };
  std::map<std::pair<size_t, RankSetId>, std::vector<ClassRange>> lines;
  std::map<RankSetId, size_t> first_after;  // of needers in the domain
  for (const ClassRange& range : stream.bytes) {
    const RankSetId needers = transfers_.classes[range.cls].needers;
    const auto [found, is_new] = first_after.try_emplace(needers, ranks.size());
    for (size_t i = 1; is_new && i <= ranks.size() && found->second == ranks.size(); ++i) {
      const Rank rank = ranks[(place(lander) + i) % ranks.size()];
      if (Contains(transfers_.rank_sets[needers], rank)) found->second = i;
    }
    lines[{found->second, needers}].push_back(range);
  }
  std::vector<std::vector<ClassRange>> turns;
  for (auto& [key, line] : lines) turns.push_back(std::move(line));
  return turns;
}

// With few NICs, what each of them sends: all send in every round. With more than a slice has
// sources, and NICs that several sources share, all bytes by NIC: lanes are of different ones.
std::vector<std::vector<ClassRange>> StreamOrder::LinesFor(
    const RoutedStream& stream, const std::vector<SourceRun>& runs) const {
  std::vector<std::vector<ClassRange>> lines;
  std::vector<ClassRange> by_nic;
  bool shared = false;
  for (auto& [outlet, line] : LinesOf(ports_, stream, runs)) {
    shared = shared || line.sources.size() > 1;
    by_nic.insert(by_nic.end(), line.bytes.begin(), line.bytes.end());
    lines.push_back(std::move(line.bytes));
  }
  if (lines.size() > kFewSourcesPerSlice) lines.clear();
  if (lines.empty() && shared) lines.push_back(std::move(by_nic));
  return lines;
}

StreamOrder::Change StreamOrder::ChangeOf(const RoutedStream& stream) const {
  Change change;
  if (stream.local) {
    if (copies_decide_[stream.domains[0]]) change.turns = TurnsOf(stream);
    if (change.turns.size() < 2) change.turns.clear();
    return change;
  }
  change.lanes = LaneCount(ports_, stream, busy_ps_);
  const Rank lander = stream.trees[0].landers.back();  // the head may be a carrier
  const int64_t copy_rate =
      topology_.domains[topology_.sites[ports_.site(lander)].domain].bytes_per_s;
  if (copy_rate == 0) return change;
  const int64_t rate = ports_.outlet(ports_.outlet_of_rank(lander)).bytes_per_s;
  const auto domains = static_cast<int64_t>(stream.domains.size());
  std::vector<bool> is_wide;
  for (const ClassRange& range : stream.bytes) {
    const auto needers =
        static_cast<int64_t>(transfers_.rank_sets[transfers_.classes[range.cls].needers].size());
    const int64_t readers = needers / domains - 1;  // of a domain, beside the lander
    is_wide.push_back(readers > 0 && copy_rate / readers < rate);
    if (!is_wide.back()) continue;
    change.wide_bytes += range.extent;
    change.wide_copy_ps += PicosecondsFor(range.extent, copy_rate) * readers;
  }
  // What takes less than a round costs needs no other order.
  const bool matters = change.wide_copy_ps > topology_.round_ns * 1000;
  if (matters && change.wide_bytes < BytesOf(stream.bytes)) {
    change.is_wide = std::move(is_wide);
  }
  return change;
}

std::vector<ClassRange> StreamOrder::Reorder(const RoutedStream& stream, const Change& change,
                                             int64_t rounds, bool lines) const {
  if (!change.turns.empty()) {
    const auto turns = static_cast<int64_t>(change.turns.size());
    const int64_t most = std::min(rounds, kMostTurnPieces / turns);
    const int64_t runs = std::min(most, BytesOf(stream.bytes) / turns / kMinSliceBytes);
    return TakeTurns(cuts_, change.turns, std::max<int64_t>(1, runs));
  }
  if (const SmallSources& sources = change.small_sources; !sources.small.empty()) {
    const int64_t parts = std::max(rounds, sources.rounds);
    // Neighbours differ in source, as a slice has one message of each.
    const std::vector<ClassRange> large = InterleaveLanes(cuts_, sources.large, 2, parts / 2 + 1);
    return SpreadEvenly(cuts_, large, sources.small, parts);
  }
  if (lines && change.lines.size() > 1 && rounds >= kFewestChunks) {
    return TakeTurns(cuts_, change.lines, rounds + rounds / kSpareChunks + 1);
  }
  std::vector<ClassRange> narrow, wide;
  for (size_t i = 0; i < stream.bytes.size(); ++i) {
    (change.is_wide.empty() || !change.is_wide[i] ? narrow : wide).push_back(stream.bytes[i]);
  }
  if (change.lanes > 1) {
    const int64_t chunks = std::min(rounds, BytesOf(narrow) / change.lanes / kMinSliceBytes + 1);
    if (lines && change.lines.size() == 1) narrow = change.lines[0];
    narrow = InterleaveLanes(cuts_, narrow, change.lanes, chunks);
  }
  if (wide.empty()) return narrow;
  const int64_t round_ps = busy_ps_ / rounds + 1;
  const int64_t runs = std::clamp(kWidePart * change.wide_copy_ps / round_ps, int64_t{1},
                                  std::min(rounds, change.wide_bytes / kMinSliceBytes + 1));
  return SpreadEvenly(cuts_, narrow, wide, runs);
}

std::vector<int64_t> StreamOrder::SourceRounds() const {
  std::vector<int64_t> rounds;
  for (const Change& change : changes_of_) rounds.push_back(change.small_sources.rounds);
  return rounds;
}

bool StreamOrder::has_lines() const {
  return std::any_of(changes_of_.begin(), changes_of_.end(),
                     [](const Change& change) { return !change.lines.empty(); });
}

Routing StreamOrder::For(int64_t rounds, bool lines) const {
  Routing ordered = routing_;
  for (size_t s = 0; s < changes_of_.size(); ++s) {
    if (!changes_of_[s].any()) continue;
    ordered.streams[s].bytes = Reorder(routing_.streams[s], changes_of_[s], rounds, lines);
  }
  return ordered;
}

}  // namespace reshard
