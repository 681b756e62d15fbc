// Candidates: the same job with other trees and slices. Routing chooses by an estimate; where the
// schedule that comes of it is not close to the bound, others are made, each is judged by a
// simulation, and the fastest is kept.
#ifndef RESHARD_COMPILER_CANDIDATES_H_
#define RESHARD_COMPILER_CANDIDATES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

enum class CandidateKind : uint8_t {
#define RESHARD_CANDIDATE(name, text, meaning) name,
#include "compiler/candidate_kinds.def"
#undef RESHARD_CANDIDATE
};
std::string_view CandidateKindText(CandidateKind kind);

struct Candidate {
  CandidateKind kind = CandidateKind::kChains;
  uint32_t heads = 0;  // most trees of a stream
  uint32_t depth = 0;  // most landers of a tree
  uint32_t rounds = 0;
  uint32_t peers = 0;  // most ranks that one rank exchanges messages with
  int64_t predicted_ns = 0;
  int64_t simulated_ns = 0;
  bool simulated_whole = true;  // else some stretches of rounds
  int64_t busiest_port_ns = 0;  // what the busiest NIC takes for its bytes alone
  int64_t bound_ns = 0;
  int64_t injects = 0;
  int64_t staging_bytes = 0;  // of the busiest rank
  bool kept = false;
};

struct CandidateInputs {
  const LogicalTable* table = nullptr;
  const TransferSet* transfers = nullptr;
  const Topology* topology = nullptr;
  ScheduleOptions options;
  // Of a rank, 0: any number. Where the fastest plan has more, other candidates are made, the same
  // whatever the limit is, so that the smallest feasible one does not depend on it.
  uint32_t max_peers = 0;
  bool settled = false;  // only the first candidate
};

// `routing` and `schedule` are the first candidate; a faster one replaces both. Candidates that do
// not fit the staging limit are left out. Returns all that were scheduled, in that order; none is
// kept where all have more than `max_peers`.
std::vector<Candidate> KeepBestCandidate(const CandidateInputs& inputs, Routing* routing,
                                         Schedule* schedule);

// Error: peers-infeasible (names the smallest feasible limit), when none of them was kept.
[[nodiscard]] bool CheckPeers(const std::vector<Candidate>& candidates, uint32_t max_peers,
                              Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CANDIDATES_H_
