#include "compiler/judge.h"

#include <algorithm>
#include <vector>

#include "compiler/emit/shared_ports.h"
#include "compiler/moves_plan.h"
#include "compiler/schedule/predict.h"
#include "compiler/simulate/simulate.h"

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

// Schedules of up to so many transfers are simulated as a whole, of larger ones stretches of about
// as many together: time to compile.
constexpr int64_t kMostTransfers = 60'000;
// So many stretches, evenly over the rounds: what moves in one differs from what moves in another.
constexpr uint32_t kStretches = 4;
// Waits of one round show in the next ones: a stretch has at least so many.
constexpr int64_t kLeastStretch = 8;
// Where the shortest stretches have more transfers than this together, the prediction has to do.
constexpr int64_t kMostInStretches = 4'000'000;

// Messages, and about as many copies to other ranks as there are.
int64_t TransferCount(const TransferSet& transfers, const Schedule& schedule) {
  std::vector<int64_t> landers(schedule.streams.size(), 0);
  for (const PlanTree& tree : schedule.trees) landers[tree.stream] += tree.member_count;
  std::vector<int64_t> per_landing(schedule.streams.size(), 0);
  for (size_t s = 0; s < schedule.streams.size(); ++s) {
    const PlanStream& stream = schedule.streams[s];
    Wide needed_bytes = 0;
    for (uint32_t i = 0; i < stream.piece_count; ++i) {
      const PlanPiece& piece = schedule.pieces[stream.first_piece + i];
      const RankSetId needers = transfers.classes[piece.cls].needers;
      needed_bytes +=
          Wide{piece.extent} * static_cast<int64_t>(transfers.rank_sets[needers].size());
    }
    const Wide landed_bytes = Wide{stream.bytes} * std::max<int64_t>(1, landers[s]);
    if (landed_bytes > 0) per_landing[s] = static_cast<int64_t>(needed_bytes / landed_bytes);
  }
  int64_t count = 0;
  for (const PlanInject& inject : schedule.injects) {
    const PlanTree& tree = schedule.trees[inject.tree];
    count += tree.member_count * (1 + per_landing[tree.stream]);
  }
  return count;
}

}  // namespace

Judgement JudgeSchedule(const TransferSet& transfers, const Topology& topology,
                        const Schedule& schedule, bool alone) {
  const std::vector<int64_t> busiest_ps = BusiestPorts(topology, schedule);
  const uint32_t rounds = schedule.round_count;
  Judgement judgement;
  judgement.predicted_ns = PredictedNs(topology, busiest_ps, 0, rounds);
  judgement.simulated_ns = judgement.predicted_ns;
  const int64_t count = std::max<int64_t>(1, TransferCount(transfers, schedule));
  const auto stretch = static_cast<uint32_t>(
      std::max<int64_t>(kLeastStretch, kMostTransfers * rounds / count / kStretches));
  judgement.whole = count <= kMostTransfers || kStretches * stretch >= rounds;
  if (!judgement.whole && count / rounds * stretch * kStretches > kMostInStretches) {
    return judgement;
  }
  const Plan plan = MovesPlan(transfers, topology, schedule);
  SimOptions options;
  options.round_cost_ns = topology.round_ns;
  // Of rounds alone: what stretches are compared with.
  const int64_t rounds_ns = judgement.predicted_ns;
  judgement.predicted_ns = StatedNs(plan, rounds_ns, topology.round_ns);
  if (judgement.whole) {
    const SimResult result = Simulate(plan, options);
    if (result.failure.empty()) judgement.simulated_ns = result.total_ns;
    return judgement;
  }
  if (alone) {
    judgement.simulated_ns = judgement.predicted_ns;
    return judgement;
  }
  // How the schedule begins and ends is simulated, too, and what lies between is scaled.
  int64_t ends_ns = 0, ends_predicted_ns = 0, predicted_ns = 0, simulated_ns = 0;
  for (uint32_t i = 0; i < kStretches; ++i) {
    options.first_round = static_cast<uint32_t>(uint64_t{rounds - stretch} * i / (kStretches - 1));
    options.end_round = options.first_round + stretch;
    const SimResult result = Simulate(plan, options);
    if (!result.failure.empty() || result.message_end_ns.size() < stretch) return judgement;
    const bool is_first = i == 0, is_last = i + 1 == kStretches;
    // From the last message of a round to that of a later one, unless it is the schedule that
    // begins or ends.
    const uint32_t from = is_first ? 0 : stretch / 4 + 1;
    const int64_t begin_ns = is_first ? 0 : result.message_end_ns[from - 1];
    const int64_t end_ns = is_last ? result.total_ns : result.message_end_ns[stretch - 1];
    const int64_t stretch_predicted_ns =
        PredictedNs(topology, busiest_ps, options.first_round + from, options.end_round);
    (is_first || is_last ? ends_ns : simulated_ns) += end_ns - begin_ns;
    (is_first || is_last ? ends_predicted_ns : predicted_ns) += stretch_predicted_ns;
  }
  if (simulated_ns <= 0) return judgement;
  const int64_t rest_ns = rounds_ns - ends_predicted_ns;
  judgement.simulated_ns =
      ends_ns + static_cast<int64_t>(Wide{rest_ns} * simulated_ns / predicted_ns);
  return judgement;
}

}  // namespace reshard
