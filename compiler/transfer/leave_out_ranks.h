// LeaveOutRanks: a job without some of its ranks, as when these have died.
#ifndef RESHARD_COMPILER_TRANSFER_LEAVE_OUT_RANKS_H_
#define RESHARD_COMPILER_TRANSFER_LEAVE_OUT_RANKS_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

struct JobSides {
  Layout* source = nullptr;
  Layout* destination = nullptr;
  TransferSet* transfers = nullptr;
};

// Takes `left_out` out of both layouts and of what was built of them: params that no other rank
// has, what only these ranks need, and the ranks themselves. `placed` are the ranks of the
// topology: any of them may be left out, as ranks that hold and need nothing can pass bytes on.
// Reports unknown-rank (a rank that nobody names), only-copy-excluded (what others need and nobody
// else holds) and nothing-to-move.
[[nodiscard]] bool LeaveOutRanks(const LogicalTable& table, const RankList& left_out,
                                 const RankList& placed, Diagnostics* diags, JobSides sides);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_LEAVE_OUT_RANKS_H_
