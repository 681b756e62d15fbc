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
#include "runtime/exec/nccl/double/host_gpu.h"
#include "runtime/exec/nccl/double/host_nccl.h"
#include "runtime/exec/nccl/nccl_backend.h"
#include "runtime/plan/plan.h"

namespace reshard::nccl {

struct DeviceJobOptions {
  HostNcclOptions nccl;
  DomainPath path = DomainPath::kAuto;
  // Where a rank runs; by default each in a process of its own, all on one host.
  std::function<GpuIdentity(uint32_t rank)> place;
  Tuning tuning;
  bool control_over_nccl = false;  // otherwise beside it
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

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
                                                     const DeviceJobOptions& options);
  ~DeviceJob();

  // By (rank, family, instance).
  std::span<const DeviceParam> params() const { return params_; }
  size_t rank_count() const { return executors_.size(); }
  Executor& executor(size_t rank_index) { return *executors_[rank_index]; }
  HostGpu& gpu(size_t rank_index) { return *gpus_[rank_index]; }
  NcclBackend& backend(size_t rank_index) { return *backends_[rank_index]; }
  const HostMachine& machine() const { return *machine_; }
  const HostNccl& nccl() const { return *nccl_; }

  void DestroyExecutors() { executors_.clear(); }

  // A job of the first `rank_count` ranks for another plan, over their part of the communicator.
  StatusOr<std::unique_ptr<DeviceJob>> WithFirstRanks(size_t rank_count,
                                                      std::shared_ptr<const Plan> plan);

  // One execution on all ranks, or on those that `takes_part` says; the results by rank.
  std::vector<Status> Execute(const std::function<bool(size_t rank_index)>& takes_part = nullptr);

 private:
  DeviceJob(const DeviceJobOptions& options, std::shared_ptr<const Plan> plan);
  Status Connect();
  Status BindAndPrepare();

  const DeviceJobOptions options_;
  std::shared_ptr<HostMachine> machine_ = std::make_shared<HostMachine>();
  std::shared_ptr<HostNccl> nccl_;
  std::shared_ptr<SharedPlan> plan_;
  std::vector<std::shared_ptr<HostGpu>> gpus_;
  std::vector<std::shared_ptr<NcclBackend>> backends_;
  std::vector<DeviceParam> params_;
  std::vector<std::pair<HostGpu*, uint8_t*>> blocks_;
  std::vector<std::unique_ptr<Executor>> executors_;
  uint64_t generation_ = 0;
};

// Calls `work` for each of `count` ranks at the same time; the first failure.
Status OnAllRanks(size_t count, const std::function<Status(size_t rank_index)>& work);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_DEVICE_JOB_H_
