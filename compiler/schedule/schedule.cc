#include "compiler/schedule/schedule.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/schedule/order.h"
#include "compiler/schedule/rounds.h"
#include "compiler/schedule/sizes.h"
#include "compiler/schedule/slices.h"
#include "compiler/schedule/slots.h"
#include "compiler/schedule/tree_levels.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

// Plans with more and smaller slices than these are of no use: a limit that would need them is
// reported as infeasible.
constexpr int64_t kMaxRounds = int64_t{1} << 16;
constexpr int64_t kMaxSlices = int64_t{1} << 22;
constexpr int64_t kLeastRoundBytes = int64_t{4} << 10;
constexpr int kSizeAttempts = 6;
// A rank receives at most this part of a slice more than the largest slice.
constexpr int64_t kRoomPart = 16;
// Of each receive slot, so that a few slices can begin at aligned offsets.
constexpr int64_t kAlignRoom = int64_t{8} << 10;
// Per cent of the limit that one receive slot gets of three where there are also two pack slots.
constexpr int64_t kPackingRecvPart = 27;

const RankSlots* LargestStaging(const std::vector<RankSlots>& slots) {
  const auto largest = std::max_element(
      slots.begin(), slots.end(),
      [](const RankSlots& a, const RankSlots& b) { return StagingBytes(a) < StagingBytes(b); });
  return largest == slots.end() ? nullptr : &*largest;
}

void AppendTree(const ScheduledTree& tree, Schedule* out) {
  const auto id = static_cast<uint32_t>(out->trees.size());
  out->trees.push_back({tree.stream, tree.kind, static_cast<uint32_t>(out->tree_members.size()),
                        static_cast<uint32_t>(tree.members.size())});
  out->tree_members.insert(out->tree_members.end(), tree.members.begin(), tree.members.end());
  for (size_t s = 0; s < tree.slices.size(); ++s) {
    const DraftSlice& slice = tree.slices[s];
    for (uint32_t i = 0; i < slice.portion_count; ++i) {
      const SourceRun& portion = tree.portions[slice.first_portion + i];
      out->injects.push_back({tree.rounds[s], id, portion.source, portion.begin, portion.extent});
    }
    const auto levels = static_cast<uint32_t>(LevelCount(tree.kind, tree.members.size()));
    out->round_count = std::max(out->round_count, tree.rounds[s] + levels);
  }
}

void FillSchedule(const Routing& routing, const std::vector<ScheduledTree>& trees, Schedule* out) {
  for (const RoutedStream& routed : routing.streams) {
    PlanStream stream;
    stream.first_piece = static_cast<uint32_t>(out->pieces.size());
    stream.piece_count = static_cast<uint32_t>(routed.bytes.size());
    stream.local = IsInsideRank(routed);
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

// One job under several sizes of rounds: larger rounds are fewer, smaller ones need less staging.
class Scheduler {
 public:
  Scheduler(const TransferSet& transfers, const Topology& topology, const Routing& routing,
            const ScheduleOptions& options)
      : topology_(topology),
        routing_(routing),
        options_(options),
        ports_(topology),
        cuts_(transfers),
        trees_(MakeTrees(routing, ports_)),
        traffic_(FindTraffic(topology, ports_, trees_)),
        order_(transfers, topology, ports_, cuts_, routing, trees_, traffic_.busy_ps,
               RoundCount(traffic_,
                          std::max(kLeastRoundBytes, options.max_staging_bytes / kRecvSlots))) {}

  // Errors: staging-infeasible, slice-too-small.
  bool Run(Diagnostics* diags, Schedule* out);

 private:
  bool CheckSlice(Diagnostics* diags) const;
  RoundSizes SmallestSizes() const;
  RoundSizes SizesFor(int64_t recv_bytes) const;
  int64_t RoundsUsed() const;
  void TryOrder(const RoundSizes& sizes, bool lines);
  void Try(const RoundSizes& sizes);
  bool TryLargest();

  const Topology& topology_;
  const Routing& routing_;
  const ScheduleOptions& options_;
  const Ports ports_;
  const ClassCuts cuts_;
  std::vector<ScheduledTree> trees_;
  const Traffic traffic_;
  const StreamOrder order_;
  // of the last try
  Routing ordered_;
  std::vector<RankSlots> slots_;
  int64_t staging_bytes_ = 0;
};

// They do not depend on the limit: what they need is the smallest feasible one.
RoundSizes Scheduler::SmallestSizes() const {
  RoundSizes sizes;
  sizes.source_rounds = order_.SourceRounds();
  sizes.slice_bytes = std::max({kLeastRoundBytes, traffic_.most_landed_bytes / kMaxRounds,
                                traffic_.tree_bytes / kMaxSlices});
  sizes.recv_bytes = sizes.slice_bytes + sizes.slice_bytes / kRoomPart;
  sizes.staging_bytes = 2 * int64_t{kRecvSlots} * sizes.recv_bytes;
  sizes.least_recv_bytes = sizes.recv_bytes;
  return sizes;
}

RoundSizes Scheduler::SizesFor(int64_t recv_bytes) const {
  RoundSizes sizes;
  sizes.source_rounds = order_.SourceRounds();
  sizes.recv_bytes = recv_bytes;
  sizes.staging_bytes = options_.max_staging_bytes;
  // A rank in several streams needs some room to fit slices of different sizes into a round.
  const bool several = traffic_.most_streams > 1;
  sizes.slice_bytes = several ? recv_bytes - recv_bytes / (kRoomPart + 1) : recv_bytes;
  if (traffic_.handing_slot_bytes > 0) sizes.slice_bytes /= 2;
  if (options_.slice_bytes > 0)
    sizes.slice_bytes = std::min(sizes.slice_bytes, options_.slice_bytes);
  return sizes;
}

int64_t Scheduler::RoundsUsed() const {
  uint32_t used = 0;
  for (const ScheduledTree& tree : trees_) {
    for (const uint32_t round : tree.rounds) used = std::max(used, round + 1);
  }
  return used;
}

void Scheduler::TryOrder(const RoundSizes& sizes, bool lines) {
  if (order_.changes()) {
    ordered_ = order_.For(RoundCount(traffic_, sizes.slice_bytes), lines);
    trees_ = MakeTrees(ordered_, ports_);
  }
  const Routing& routing = order_.changes() ? ordered_ : routing_;
  const RoundLimits limits =
      SizeSlices(topology_, ports_, routing, cuts_, traffic_, sizes, &trees_);
  AssignRounds(topology_, ports_, limits, &trees_);
}

// Lines are worth their messages where rounds do not become many more.
void Scheduler::Try(const RoundSizes& sizes) {
  TryOrder(sizes, true);
  const int64_t wanted = RoundCount(traffic_, sizes.slice_bytes);
  if (const int64_t used = RoundsUsed(); order_.has_lines() && used > wanted + wanted / 4) {
    TryOrder(sizes, false);
    if (RoundsUsed() > used) TryOrder(sizes, true);
  }
  slots_ = FindSlots(topology_, ports_, trees_);
  const RankSlots* largest = LargestStaging(slots_);
  staging_bytes_ = largest == nullptr ? 0 : StagingBytes(*largest);
}

// The largest rounds that fit the limit, by a few tries; false: none of them.
bool Scheduler::TryLargest() {
  const int64_t limit = options_.max_staging_bytes;
  const int64_t least = SmallestSizes().recv_bytes;
  const int64_t room = std::min(kAlignRoom, limit / 64);
  int64_t recv_bytes = limit / kRecvSlots - room;
  // So many rounds that a rank can also pack what it sends, and one that hands over to several
  // others for all of them in each, while landers take slices of two trees at once.
  const int64_t fair = limit - limit / kRoomPart;
  const int64_t landed = traffic_.most_landed_bytes;
  if (!IsFlat(traffic_) && traffic_.landers_send)
    recv_bytes = Portion(limit, kPackingRecvPart, 100);
  if (IsFlat(traffic_) && traffic_.slot_bytes > kRecvSlots * landed) {
    recv_bytes = std::min(recv_bytes, Portion(landed, fair, traffic_.slot_bytes));
  }
  if (traffic_.handing_slot_bytes > 0) {
    recv_bytes = std::min(recv_bytes, 2 * Portion(landed, fair, traffic_.handing_slot_bytes));
  }
  for (int attempt = 0; attempt < kSizeAttempts && recv_bytes > least; ++attempt) {
    Try(SizesFor(recv_bytes));
    if (staging_bytes_ <= limit) return true;
    recv_bytes = Portion(recv_bytes, limit - limit / 64, staging_bytes_);
  }
  return false;
}

bool Scheduler::CheckSlice(Diagnostics* diags) const {
  const int64_t least = (traffic_.most_landed_bytes + kMaxRounds - 1) / kMaxRounds;
  if (options_.slice_bytes == 0 || options_.slice_bytes >= least) return true;
  diags->Error(DiagnosticCode::kSliceTooSmall, Span{},
               "slices of " + std::to_string(options_.slice_bytes) +
                   " bytes are too small: a job is cut into at most " + std::to_string(kMaxRounds) +
                   " rounds, for which this job needs slices of " + std::to_string(least) +
                   " bytes");
  return false;
}

bool Scheduler::Run(Diagnostics* diags, Schedule* out) {
  if (!CheckSlice(diags)) return false;
  const int64_t limit = options_.max_staging_bytes;
  const RoundSizes smallest = SmallestSizes();
  // What the smallest sizes need is at most this; where that may not fit, it is found out first.
  const int64_t surely_enough =
      smallest.staging_bytes + 2 * int64_t{kRecvSlots} * kMaxOpsPerRound * kSlotAlignBytes +
      kRecvSlots * int64_t{traffic_.most_local_streams} * (smallest.recv_bytes + kSlotAlignBytes);
  if (limit < surely_enough) {
    Try(smallest);
    if (staging_bytes_ > limit) {
      diags->Error(DiagnosticCode::kStagingInfeasible, Span{},
                   "a staging limit of " + std::to_string(limit) +
                       " bytes is too small, the smallest feasible limit is " +
                       std::to_string(staging_bytes_) + " bytes (for rank " +
                       std::to_string(LargestStaging(slots_)->rank) + ")");
      return false;
    }
  }
  if (!TryLargest()) Try(smallest);
  RESHARD_CHECK(staging_bytes_ <= limit, "the smallest sizes need more staging than they may");
  FillSchedule(order_.changes() ? ordered_ : routing_, trees_, out);
  out->slots = std::move(slots_);
  return true;
}

}  // namespace

bool BuildSchedule(const TransferSet& transfers, const Topology& topology, const Routing& routing,
                   const ScheduleOptions& options, Diagnostics* diags, Schedule* out) {
  return Scheduler(transfers, topology, routing, options).Run(diags, out);
}

}  // namespace reshard
