// One rank of a job in which another one fails, over the C interface: what its calls return, what
// its params then hold, and whether the survivors can go on. The same on every backend that has
// processes; failure_job.py starts them.
//
// Arguments: PLAN VICTIM WHEN HOW TIMEOUT_MS [SURVIVORS_PLAN [CUT_FILE]]
//   VICTIM  the rank that fails; for link the one that stops in the middle
//   WHEN    start: before the second execution; middle: inside it; end: after it, before commit
//   HOW     kill, stop; link: the test cuts the network. At the start and at the end all ranks wait
//           until CUT_FILE exists; in the middle the test lets VICTIM go on
// Prints lines of JSON: when it is ready, when it waits for the cut, with all that it saw, and
// about the survivors.
#ifndef RESHARD_TESTS_BACKENDS_FAILURE_RANK_H_
#define RESHARD_TESTS_BACKENDS_FAILURE_RANK_H_

#include <cstdint>
#include <span>

#include "reshard/reshard.h"

namespace reshard {

// How the processes of a job reach each other. Members are the ranks of the plan, in its order.
class FailureNetwork {
 public:
  virtual ~FailureNetwork() = default;

  virtual int member() const = 0;
  // Collective over `members`, which rise and have this one among them; others may be dead.
  virtual reshard_result MakeBackend(std::span<const int> members, int64_t timeout_ns,
                                     reshard_backend** backend) = 0;
  virtual void Barrier() = 0;
  // Lets the network send what others still wait for, where it needs that.
  virtual void Progress() {}
};

// Ends the process.
[[noreturn]] void RunFailureRank(std::span<char* const> arguments, FailureNetwork* network);

}  // namespace reshard

#endif  // RESHARD_TESTS_BACKENDS_FAILURE_RANK_H_
