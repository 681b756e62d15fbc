#include "compiler/schedule/schedule.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/round_cost.h"
#include "compiler/schedule/interleave.h"
#include "compiler/schedule/rounds.h"
#include "compiler/schedule/sizes.h"
#include "compiler/schedule/slices.h"
#include "compiler/schedule/slots.h"

namespace reshard {
namespace {

// Plans with more and smaller slices than these are of no use: a limit that would need them is
// reported as infeasible.
constexpr int64_t kMaxRounds = int64_t{1} << 16;
constexpr int64_t kMaxSlices = int64_t{1} << 22;
constexpr int64_t kLeastRoundBytes = int64_t{4} << 10;
constexpr int kSizeAttempts = 6;

// Orders the bytes of each stream in its lanes, one chunk of each to a round.
void Interleave(const ClassCuts& cuts, const Routing& routing, const std::vector<uint32_t>& lanes,
                int64_t rounds, Routing* ordered) {
  for (size_t s = 0; s < routing.streams.size(); ++s) {
    if (lanes[s] == 1) continue;
    const std::vector<ClassRange>& bytes = routing.streams[s].bytes;
    int64_t total = 0;
    for (const ClassRange& range : bytes) total += range.extent;
    const int64_t chunks = std::min(rounds, total / lanes[s] / kMinSliceBytes + 1);
    ordered->streams[s].bytes = InterleaveLanes(cuts, bytes, lanes[s], chunks);
  }
}

const RankSlots* LargestStaging(const std::vector<RankSlots>& slots) {
  const auto largest = std::max_element(
      slots.begin(), slots.end(),
      [](const RankSlots& a, const RankSlots& b) { return StagingBytes(a) < StagingBytes(b); });
  return largest == slots.end() ? nullptr : &*largest;
}

void AppendTree(const ScheduledTree& tree, Schedule* out) {
  const auto id = static_cast<uint32_t>(out->trees.size());
  out->trees.push_back({tree.stream, PlanTreeKind::kChain,
                        static_cast<uint32_t>(out->tree_members.size()),
                        static_cast<uint32_t>(tree.members.size())});
  out->tree_members.insert(out->tree_members.end(), tree.members.begin(), tree.members.end());
  for (size_t s = 0; s < tree.slices.size(); ++s) {
    const DraftSlice& slice = tree.slices[s];
    for (uint32_t i = 0; i < slice.portion_count; ++i) {
      const SourceRun& portion = tree.portions[slice.first_portion + i];
      out->injects.push_back({tree.rounds[s], id, portion.source, portion.begin, portion.extent});
    }
    const uint32_t last_round = tree.rounds[s] + static_cast<uint32_t>(tree.members.size()) - 1;
    out->round_count = std::max(out->round_count, last_round + 1);
  }
}

void FillSchedule(const Routing& routing, const std::vector<ScheduledTree>& trees, Schedule* out) {
  for (const RoutedStream& routed : routing.streams) {
    PlanStream stream;
    stream.first_piece = static_cast<uint32_t>(out->pieces.size());
    stream.piece_count = static_cast<uint32_t>(routed.bytes.size());
    stream.local = routed.local;
    for (const ClassRange& range : routed.bytes) {
      out->pieces.push_back({range.cls, range.begin, range.extent});
      stream.bytes += range.extent;
    }
    out->streams.push_back(stream);
  }
  for (const ScheduledTree& tree : trees) AppendTree(tree, out);
  std::sort(out->injects.begin(), out->injects.end(), [](const PlanInject& a, const PlanInject& b) {
    return std::tie(a.source, a.round, a.tree) < std::tie(b.source, b.round, b.tree);
  });
}

}  // namespace

bool BuildSchedule(const TransferSet& transfers, const Topology& topology, const Routing& routing,
                   const ScheduleOptions& options, Diagnostics* diags, Schedule* out) {
  const Ports ports(topology);
  const ClassCuts cuts(transfers);
  std::vector<ScheduledTree> trees = MakeTrees(routing);
  std::vector<uint32_t> lanes;
  for (const RoutedStream& stream : routing.streams) lanes.push_back(LaneCount(ports, stream));
  const bool interleaves =
      std::any_of(lanes.begin(), lanes.end(), [](uint32_t n) { return n > 1; });
  Routing ordered = routing;
  const Traffic traffic = FindTraffic(topology, ports, trees);
  const int64_t least = std::max(
      {kLeastRoundBytes, traffic.most_landed_bytes / kMaxRounds, traffic.tree_bytes / kMaxSlices});
  // Receive slots, pack slots where a rank needs both, and some room for alignment.
  const int64_t slots_per_rank = traffic.landers_send ? 6 : 4;
  int64_t round_bytes = std::min(options.slice_bytes, options.max_staging_bytes / slots_per_rank);
  for (int attempt = 1;; ++attempt) {
    round_bytes = attempt == kSizeAttempts ? least : std::max(least, round_bytes);
    if (interleaves) {
      Interleave(cuts, routing, lanes, RoundCount(traffic, round_bytes), &ordered);
      trees = MakeTrees(ordered);
    }
    const RoundLimits limits = SizeSlices(topology, ports, ordered, cuts, traffic, round_bytes,
                                          options.max_staging_bytes, &trees);
    AssignRounds(topology, ports, limits, &trees);
    out->slots = FindSlots(topology, ports, trees);
    const RankSlots* largest = LargestStaging(out->slots);
    const int64_t staging = largest == nullptr ? 0 : StagingBytes(*largest);
    if (staging <= options.max_staging_bytes) break;
    if (round_bytes == least) {
      diags->Error(DiagnosticCode::kStagingInfeasible, Span{},
                   "a staging limit of " + std::to_string(options.max_staging_bytes) +
                       " bytes is too small, the smallest feasible limit is " +
                       std::to_string(staging) + " bytes (for rank " +
                       std::to_string(largest->rank) + ")");
      return false;
    }
    round_bytes = Portion(round_bytes, options.max_staging_bytes, staging + staging / 8);
  }
  FillSchedule(ordered, trees, out);
  return true;
}

}  // namespace reshard
