// Executor: the part of one rank in a plan, from its buffers to a committed generation.
//
//   Create -> Bind, Bind, ... -> Prepare -> { Start -> Wait -> Commit } again and again
//
// Prepare and Commit are collective; the ranks agree there on the plan, on the readiness of all and
// on the generation. Start returns at once: the execution runs on a thread of the executor, or,
// where the backend wants that, inside Wait. Start and Wait allocate no memory. One thread at a
// time, Abort excepted. A call out of order is kWrongOrder and changes nothing.
//
// A failure is final: every further Start returns it. What the destination params then hold is told
// by CompleteParams; another executor on the same buffers and a new backend, with the same plan or
// another, goes on.
#ifndef RESHARD_RUNTIME_EXEC_EXECUTOR_H_
#define RESHARD_RUNTIME_EXEC_EXECUTOR_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/engine.h"
#include "runtime/exec/prepared_program.h"
#include "runtime/exec/stats.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

// A plan that the executors of a process share. It has passed VerifyPlan, or VerifyRank of every
// rank that is executed.
struct SharedPlan {
  std::shared_ptr<const Plan> plan;
  ProgramIndex index;
  Digest root_digest{};
};

struct ExecutorOptions {
  // How long one wait for another rank may last.
  std::chrono::nanoseconds wait_timeout = std::chrono::seconds(30);
  bool trace = false;
  // The first so many executions compare the content of sources and destinations; the same on all
  // ranks, which Prepare checks.
  uint32_t verify_executions = 0;
  // The ranks that have to hold one generation before any of them serves it, this one included and
  // the same list on all of them; empty: all ranks of the plan.
  std::vector<uint32_t> replica;
};

class Executor {
 public:
  static constexpr uint64_t kNoGeneration = 0;

  static StatusOr<std::unique_ptr<Executor>> Create(std::shared_ptr<const SharedPlan> plan,
                                                    uint32_t rank, std::shared_ptr<Backend> backend,
                                                    ExecutorOptions options);
  // Ends an execution that runs, with an error on all ranks. On a thread for which CheckThread is
  // ok.
  ~Executor();

  // Error on a thread that must not use the backend.
  Status CheckThread() const { return backend_->CheckThread(); }

  // The buffer is the caller's and lives until it is bound no more. What is wrong with it is said
  // by Prepare, together with all else that is wrong. Not while an execution runs.
  Status Bind(ParamBuffer buffer);
  Status Unbind();  // everything; Prepare has to follow

  // Binds what was given and agrees with all ranks. An error on one rank is one on every rank:
  // before ranks connect all may try again, and none starts until that succeeds; later it is final.
  Status Prepare(std::chrono::nanoseconds timeout);

  // `generation` is higher than that of the execution before. See ExecutionEngine::Begin for
  // `stream`.
  Status Start(void* stream, uint64_t generation);
  // True when the execution is over; false when it still runs after `timeout`.
  StatusOr<bool> Wait(std::chrono::nanoseconds timeout);

  // The generation that every rank of the replica holds in full; an error if one of them holds
  // another, or none: after a failure, or in buffers bound since.
  StatusOr<uint64_t> Commit(std::chrono::nanoseconds timeout);

  // From any thread: ends the execution that runs, or the next one, on all ranks with an error. The
  // others are told at once where executions run on a thread of the executor; else by this rank's
  // next call. Before the first Prepare is over it fails that Prepare, on all ranks.
  void Abort(const std::string& reason);

  uint32_t rank() const { return rank_; }
  bool running() const { return running_; }
  bool failed() const { return !failure_.ok(); }
  // Of the last execution that began, and of the last that this rank completed in the buffers that
  // are bound: kNoGeneration after a Bind or Unbind.
  uint64_t started_generation() const { return started_generation_; }
  uint64_t complete_generation() const { return complete_generation_; }
  // What the last execution did. Not while one runs.
  const ExecutionRecord& record() const { return record_; }
  const PreparedProgram* program() const { return program_.get(); }
  // Whether each of program()->params has all its bytes of the generation started last: none has
  // after a Bind or Unbind. Not while an execution runs.
  std::vector<bool> CompleteParams() const;
  int64_t arena_bytes() const { return engine_ ? engine_->arena_bytes() : 0; }

 private:
  Executor(std::shared_ptr<const SharedPlan> plan, uint32_t rank, std::shared_ptr<Backend> backend,
           ExecutorOptions options);
  Status CreateProgram(std::unique_ptr<PreparedProgram>* program) const;
  Status Connect(std::unique_ptr<PreparedProgram> program, Deadline deadline);
  void Work();
  Status RunOnce();
  // While the caller's thread uses the backend, the worker does not. Waits until that is so.
  class CallerUsesBackend;
  Status TakeEarlyAbort();
  void ForgetGeneration();
  std::string SentText() const;
  Status Explain(const Status& status) const;
  Status ExplainSilence(const Status& status) const;
  std::string FamilyText(uint32_t family, int64_t instance) const;
  std::vector<uint32_t> ReplicaMembers() const;

  const std::shared_ptr<const SharedPlan> plan_;
  const uint32_t rank_;
  const std::shared_ptr<Backend> backend_;
  const ExecutorOptions options_;
  std::vector<ParamBuffer> buffers_;
  std::vector<uint32_t> ranks_of_members_;
  std::unique_ptr<PreparedProgram> program_;
  std::unique_ptr<ExecutionEngine> engine_;  // ends before its program does
  ExecutionRecord record_;
  bool ready_ = false;
  bool running_ = false;
  Status failure_;
  uint64_t started_generation_ = kNoGeneration;
  uint64_t complete_generation_ = kNoGeneration;
  bool executed_ = false;  // an execution began with the buffers that are bound
  uint32_t execution_count_ = 0;

  enum class Order : uint8_t { kIdle, kRun, kDone, kQuit };
  std::mutex mutex_;
  std::condition_variable changed_;
  Order order_ = Order::kIdle;            // guarded by mutex_
  Status result_;                         // of the execution; the worker's while order_ is kRun
  ExecutionEngine* abortable_ = nullptr;  // guarded by mutex_: the engine, once it is made
  Status early_abort_;                    // guarded by mutex_: of an Abort before that
  bool has_untold_abort_ = false;         // guarded by mutex_
  bool worker_tells_abort_ = false;       // guarded by mutex_: it uses the backend
  bool caller_uses_backend_ = false;      // guarded by mutex_
  std::thread worker_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_EXECUTOR_H_
