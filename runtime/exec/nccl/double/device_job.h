// DeviceJob: a whole plan on the NCCL backend over HostGpu and HostNccl, a thread per rank.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_DEVICE_JOB_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_DEVICE_JOB_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/exec/nccl/double/host_backends.h"
#include "runtime/plan/plan.h"

namespace reshard::nccl {

struct DeviceParam {
  uint32_t rank = 0;
  PlanSide side = PlanSide::kSource;
  uint32_t family = 0;
  int64_t instance = 0;
  bool external = false;
  std::string name;
  std::span<uint8_t> bytes;  // on the device, which is host memory here
};

class DeviceJob {
 public:
  // Everything up to prepared executors; a failure is that of the first rank that has one.
  static StatusOr<std::unique_ptr<DeviceJob>> Create(std::shared_ptr<const Plan> plan,
                                                     const HostBackendOptions& options);
  ~DeviceJob();

  // By (rank, family, instance).
  std::span<const DeviceParam> params() const { return params_; }
  size_t rank_count() const { return executors_.size(); }
  Executor& executor(size_t rank_index) { return *executors_[rank_index]; }
  HostGpu& gpu(size_t rank_index) { return *host_.gpus[rank_index]; }
  NcclBackend& backend(size_t rank_index) { return *host_.backends[rank_index]; }
  const HostMachine& machine() const { return *host_.machine; }
  HostNccl& nccl() { return *host_.nccl; }

  void DestroyExecutors() { executors_.clear(); }
  void DestroyExecutor(size_t rank_index) { executors_[rank_index].reset(); }

  // A job of the first `rank_count` ranks for another plan, over their part of the communicator.
  StatusOr<std::unique_ptr<DeviceJob>> WithFirstRanks(size_t rank_count,
                                                      std::shared_ptr<const Plan> plan);

  // One execution on all ranks, or on those that `takes_part` says; the results by rank.
  std::vector<Status> Execute(const std::function<bool(size_t rank_index)>& takes_part = nullptr);

 private:
  DeviceJob(const HostBackendOptions& options, std::shared_ptr<const Plan> plan);
  Status BindAndPrepare();

  const HostBackendOptions options_;
  HostBackends host_;
  std::shared_ptr<SharedPlan> plan_;
  std::vector<DeviceParam> params_;
  std::vector<std::pair<HostGpu*, uint8_t*>> blocks_;
  std::vector<std::unique_ptr<Executor>> executors_;
  uint64_t generation_ = 0;
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_DEVICE_JOB_H_
