// Schedule: when each byte moves, in rounds, under a staging limit.
//
// A stream's bytes get an order and are cut into slices. An inject is one message of a round: a run
// of a stream's bytes that a source sends to the head of a tree. A lander at depth p receives a
// slice p rounds after the head did. The rules that a schedule obeys are those of docs/plan.md,
// and runtime/plan proves them again from the finished plan.
#ifndef RESHARD_COMPILER_SCHEDULE_SCHEDULE_H_
#define RESHARD_COMPILER_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct ScheduleOptions {
  int64_t slice_bytes = 0;  // largest slice of a stream, 0: as large as staging allows
  int64_t max_staging_bytes = int64_t{256} << 20;  // per rank
};

// What one rank receives and packs at most in a round, multiples of kSlotAlignBytes. Ranks differ
// much: a rank that only sends needs no receive slots.
struct RankSlots {
  Rank rank = 0;
  int64_t recv_slot_bytes = 0;
  int64_t pack_slot_bytes = 0;
};

struct Schedule {
  std::vector<PlanStream> streams;  // pieces in stream order
  std::vector<PlanPiece> pieces;
  std::vector<PlanTree> trees;
  std::vector<Rank> tree_members;
  std::vector<PlanInject> injects;  // by (source, round, tree)
  uint32_t round_count = 0;
  std::vector<RankSlots> slots;  // rising by rank; ranks not listed need no staging
};

// Errors: staging-infeasible and slice-too-small (they name the smallest feasible value).
[[nodiscard]] bool BuildSchedule(const TransferSet& transfers, const Topology& topology,
                                 const Routing& routing, const ScheduleOptions& options,
                                 Diagnostics* diags, Schedule* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_SCHEDULE_H_
