// Simulate: how long a plan takes, event by event.
//
// Runs what ExpandProgram says, rank by rank, on the plan's topology section: messages, copies and
// packs are flows that share ports max-min fairly (fair_share.h), a rank enters a round when it has
// finished the one before, and there is no barrier. docs/simulate.md states the model exactly.
// Shares no arithmetic with the passes that make plans. Pure and deterministic: event times are
// whole picoseconds and ties are broken by number.
#ifndef RESHARD_COMPILER_SIMULATE_SIMULATE_H_
#define RESHARD_COMPILER_SIMULATE_SIMULATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/plan_options.h"

namespace reshard {

struct SimOptions {
  int64_t round_cost_ns = kDefaultRoundNs;  // of one group of network operations of one rank
  // Only what happens in rounds [first_round, end_round); everything earlier counts as done.
  uint32_t first_round = 0;
  uint32_t end_round = UINT32_MAX;
  bool record_spans = false;  // fill SimResult::spans
};

// One direction of a port.
struct SimPortUse {
  int64_t bytes = 0;
  int64_t busy_ns = 0;  // time in which bytes move through it
};
struct SimPort {
  SimPortUse out, in;
};

struct SimRank {
  uint32_t rank = 0;
  int64_t end_ns = 0;             // it has finished everything
  int64_t wait_for_peers_ns = 0;  // was ready for its round's messages before its peers were
  int64_t wait_for_slots_ns = 0;  // its receive slot was still being read
};

enum class SimSpanKind : uint8_t { kMessage, kCopy };
// Bytes that moved from one rank to another: over NICs, or inside a domain.
struct SimSpan {
  SimSpanKind kind = SimSpanKind::kMessage;
  uint32_t round = 0;
  uint32_t src = 0;
  uint32_t dst = 0;
  int64_t bytes = 0;
  int64_t begin_ps = 0;
  int64_t end_ps = 0;
};

struct SimResult {
  // Not empty: why the plan cannot run on its topology, or where it got stuck; the rest is void.
  std::string failure;
  int64_t total_ns = 0;
  std::vector<int64_t> round_end_ns;  // of rounds first_round ...: the last operation of a round
  // The last message of a round or of an earlier one; as many as there are rounds with messages.
  std::vector<int64_t> message_end_ns;
  std::vector<SimPort> nics;     // per plan.nics
  std::vector<SimPort> scaleup;  // per plan.sites: its port into its domain's fabric
  std::vector<SimRank> ranks;    // per plan.ranks
  int64_t messages = 0;
  int64_t copies = 0;  // between ranks or inside one; those of one lander, reader and round are one
  int64_t max_staging_bytes = 0;
  std::vector<SimSpan> spans;  // by end
};

// `plan` has passed the bounds rules of LoadPlan.
SimResult Simulate(const Plan& plan, const SimOptions& options);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_SIMULATE_H_
