// Executor: runs the program of one rank, again and again.
//
// Everything is prepared at creation: which bytes each message gathers or scatters, in which order,
// and what each round waits for. Execute then allocates nothing. It overlaps the network of round r
// with the copies of round r - 1 and the packing of round r + 1, as far as the transport moves
// bytes by itself. Every wait of round r is for something that another rank does in an earlier
// round, or earlier in the order pack, start, copy, pack ahead, finish, publish of the same round:
// no circle can form. Not thread-safe. Ranks need no thread each, but Execute of all ranks has to
// run at the same time.
#ifndef RESHARD_RUNTIME_EXEC_EXECUTOR_H_
#define RESHARD_RUNTIME_EXEC_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/prepared_program.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

struct ExecuteOptions {
  // How long one wait for another rank may last. A rank that waits longer fails, and with it all.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

class Executor {
 public:
  // `plan` has passed VerifyPlan and is not needed afterwards; `transport` and the buffers of
  // `bindings` outlive the executor.
  static StatusOr<std::unique_ptr<Executor>> Create(const Plan& plan, const ProgramIndex& index,
                                                    uint32_t rank, Bindings bindings,
                                                    RankTransport* transport);

  // Takes part in one execution of the plan; every rank has to. On success all destination params
  // of this rank are written. After a failure the transport is aborted and the executor refuses.
  Status Execute(const ExecuteOptions& options);

  uint32_t rank() const { return program_.rank; }

 private:
  Executor(PreparedProgram program, RankTransport* transport)
      : program_(std::move(program)), transport_(transport) {}
  Status RunRounds();
  Status AwaitSlot(const PreparedRound& round);
  Status Pack(const PreparedRound& round);
  Status StartMessages(const PreparedRound& round);
  Status CopyOut(const PreparedRound& round);
  uint64_t StepOf(uint32_t round) const { return base_step_ + round + 1; }
  Deadline DeadlineFromNow() const { return std::chrono::steady_clock::now() + timeout_; }
  Status Explain(const Status& status) const;

  PreparedProgram program_;
  RankTransport* transport_;
  uint64_t execution_count_ = 0;
  Status failure_;
  // Of the execution that runs.
  uint64_t base_step_ = 0;
  uint32_t current_round_ = 0;
  std::chrono::nanoseconds timeout_{0};
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_EXECUTOR_H_
