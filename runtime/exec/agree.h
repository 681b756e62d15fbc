// What all ranks of a job have to agree on before the first byte moves.
//
// Each call is collective over all members of a channel. When one rank is wrong, every rank gets an
// error that names it: no rank goes on alone and then waits for the others.
#ifndef RESHARD_RUNTIME_EXEC_AGREE_H_
#define RESHARD_RUNTIME_EXEC_AGREE_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct RankClaim {
  uint32_t rank = 0;               // of the plan
  Digest digest{};                 // root digest of the plan that this rank has loaded
  Status local;                    // why this rank cannot go on; ok when it can
  uint32_t verify_executions = 0;  // that compare content, which all ranks take part in
};

// Returns the rank of each member. Error on every rank when
// - digests differ: names the ranks and the digests (kAborted);
// - ranks of `expected` (rising) are missing, claimed twice or not of the plan (kInvalidArgument);
// - a rank's `local` is a failure: its text, with the rank in front (kAborted); that rank itself
//   gets its own status;
// - `verify_executions` differs: names the ranks and the numbers (kInvalidArgument).
StatusOr<std::vector<uint32_t>> AgreeOnPlan(ControlChannel* control, const RankClaim& claim,
                                            std::vector<uint32_t> expected, Deadline deadline);

// Whether every rank has succeeded in what it did: the own failure, else that of another rank with
// its name in front (kAborted). `ranks` as AgreeOnPlan returned them.
Status AgreeOnStatus(ControlChannel* control, const std::vector<uint32_t>& ranks,
                     const Status& local, Deadline deadline);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_AGREE_H_
