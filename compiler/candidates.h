// Candidates: the same job with other numbers of trees per stream. Routing chooses the number by an
// estimate; where the schedule that comes of it is not close to the bound, others are scheduled,
// too, and the fastest is kept.
#ifndef RESHARD_COMPILER_CANDIDATES_H_
#define RESHARD_COMPILER_CANDIDATES_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

struct Candidate {
  uint32_t heads = 0;  // most trees of a stream
  uint32_t depth = 0;  // most landers of a tree
  uint32_t rounds = 0;
  int64_t predicted_ns = 0;
  int64_t injects = 0;
  int64_t staging_bytes = 0;  // of the busiest rank
  bool kept = false;
};

struct CandidateInputs {
  const LogicalTable* table = nullptr;
  const TransferSet* transfers = nullptr;
  const Topology* topology = nullptr;
  ScheduleOptions options;
};

// `routing` and `schedule` are the first candidate; a faster one replaces both. Candidates that do
// not fit the staging limit are left out. Returns all that were scheduled, in that order.
std::vector<Candidate> KeepBestCandidate(const CandidateInputs& inputs, Routing* routing,
                                         Schedule* schedule);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CANDIDATES_H_
