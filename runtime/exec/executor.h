// Executor: runs the program of one rank, again and again.
//
// Everything is prepared at creation: which bytes each message gathers or scatters, in which order,
// and what each round waits for. Execute then allocates nothing. It overlaps the network of round r
// with the copies of round r - 1 and the packing of round r + 1, as far as the transport moves bytes
// by itself. Not thread-safe; ranks need not be threads of their own, only Execute of all ranks has
// to run at the same time.
#ifndef RESHARD_RUNTIME_EXEC_EXECUTOR_H_
#define RESHARD_RUNTIME_EXEC_EXECUTOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/pack.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

struct ExecuteOptions {
  // How long one wait for another rank may last. A rank that waits longer fails, and with it all.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

class Executor {
 public:
  // `plan` has passed VerifyPlan and outlives nothing here; `transport` and the buffers of
  // `bindings` outlive the executor.
  static StatusOr<std::unique_ptr<Executor>> Create(const Plan& plan, const ProgramIndex& index,
                                                    uint32_t rank, const Bindings& bindings,
                                                    RankTransport* transport);

  // Takes part in one execution of the plan; every rank has to. On success all destination params
  // of this rank are written. After a failure the transport is aborted and the executor refuses.
  Status Execute(const ExecuteOptions& options);

  uint32_t rank() const { return rank_; }

 private:
  struct Message {
    uint32_t peer = 0;
    int64_t arena_offset = 0;
    int64_t extent = 0;
  };
  struct Packing {
    CopyRange copies;
    int64_t arena_offset = 0;
  };
  struct Reading {
    CopyRange copies;
    uint32_t lander = 0;
    int64_t lander_offset = 0;
  };
  // What happens in one round, as ranges of the vectors below. The copies are those of the round
  // before: their slices have landed by then.
  struct Round {
    uint32_t round = 0;
    uint32_t first_pack = 0, pack_end = 0;
    uint32_t first_send = 0, send_end = 0;
    uint32_t first_receive = 0, receive_end = 0;
    uint32_t first_reading = 0, reading_end = 0;
    bool lands = false;         // writes its receive slot
    uint32_t slot_reads = 0;    // rounds before this one have to be read by the domain before it may
    uint32_t reads_after = 0;   // all reads of rounds before this one are over after its copies
  };

  Executor(uint32_t rank, RankTransport* transport) : rank_(rank), transport_(transport) {}
  Status Prepare(const Plan& plan, const ProgramIndex& index, const Bindings& bindings);
  Status PrepareOps(const Plan& plan, const ProgramIndex& index, const Program& program,
                    const Bindings& bindings);
  Status PrepareFills(const Plan& plan, const Bindings& bindings);
  void PrepareWaits();
  Round& RoundAt(uint32_t round);

  Status RunRounds(uint64_t base_step, std::chrono::nanoseconds timeout);
  Status AwaitSlot(const Round& round, uint64_t base_step, std::chrono::nanoseconds timeout);
  Status Pack(const Round& round, uint64_t base_step, std::chrono::nanoseconds timeout);
  Status StartMessages(const Round& round, uint64_t step);
  Status CopyOut(const Round& round, uint64_t base_step, std::chrono::nanoseconds timeout);

  uint32_t rank_;
  RankTransport* transport_;
  uint64_t round_count_ = 0;
  uint64_t execution_count_ = 0;
  Status failure_;
  uint32_t first_reads_ = 0;  // rounds before this one are never read by this rank
  std::vector<Round> rounds_;  // rising
  std::vector<Packing> packs_;
  std::vector<Message> sends_, receives_;
  std::vector<Reading> readings_;
  std::vector<uint32_t> neighbours_;  // other ranks of the domain that take part
  CopyList gathers_, scatters_;
  FillList fills_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_EXECUTOR_H_
