// LoopbackJob: a whole plan in one process. Every rank is an executor, every param a real buffer.
//
// The reference backend: what it does is what a plan means. A job owns the buffers of all ranks;
// between executions the caller fills and inspects them.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_JOB_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_JOB_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "runtime/exec/loopback/param_buffers.h"
#include "runtime/exec/trace.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct LoopbackOptions {
  // How long one wait for another rank may last.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  double pace = 0;     // of LoopbackGroup
  bool trace = false;  // records() then hold every span and message
};

// Bytes that a job of this plan allocates, computed from the plan before anything is allocated.
struct LoopbackMemory {
  int64_t source_bytes = 0;
  int64_t destination_bytes = 0;
  int64_t staging_bytes = 0;
  int64_t table_bytes = 0;  // about the params, an estimate
  int64_t total() const { return source_bytes + destination_bytes + staging_bytes + table_bytes; }
};
// Error when the sum does not exist in 64 bits.
StatusOr<LoopbackMemory> LoopbackMemoryOf(const Plan& plan);

struct LoopbackStats {
  std::chrono::nanoseconds elapsed{0};  // of the last execution
  int64_t max_staging_bytes = 0;        // largest arena really allocated
};

class LoopbackJob {
 public:
  // `plan` has passed VerifyPlan and outlives the job.
  static StatusOr<std::unique_ptr<LoopbackJob>> Create(const Plan& plan,
                                                       const LoopbackOptions& options);
  ~LoopbackJob();

  // By (rank, family, instance).
  std::span<const LoopbackParam> params() const { return params_.params(); }
  std::span<const LoopbackParam> params_of(size_t rank_index) const;
  size_t rank_count() const { return executors_.size(); }

  // One execution on all ranks; returns the failure of the rank that failed first, by name.
  Status Execute();
  const LoopbackStats& stats() const { return stats_; }
  // What each rank did in the last execution.
  std::vector<RankRecord> records() const;

 private:
  explicit LoopbackJob(const Plan& plan) : plan_(plan) {}
  Status AllocateParams();
  Status CreateExecutors(const LoopbackOptions& options);
  // The result of the rank that failed first, with its name.
  Status FirstFailure(const std::vector<Status>& results) const;

  const Plan& plan_;
  ParamBuffers params_;
  std::vector<size_t> first_param_;  // per rank; one more at the end
  std::unique_ptr<LoopbackGroup> group_;
  std::vector<std::unique_ptr<Executor>> executors_;
  uint64_t generation_ = 0;
  LoopbackStats stats_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_JOB_H_
