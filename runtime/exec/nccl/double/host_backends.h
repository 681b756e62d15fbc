// HostBackends: the NCCL backends of all ranks of a job in this process, over HostGpu and HostNccl.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_BACKENDS_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_BACKENDS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/exec/nccl/double/host_gpu.h"
#include "runtime/exec/nccl/double/host_nccl.h"
#include "runtime/exec/nccl/nccl_backend.h"

namespace reshard::nccl {

struct HostBackendOptions {
  HostNcclOptions nccl;
  DomainPath path = DomainPath::kAuto;
  Tuning tuning;
  // Where a member runs; by default each in a process of its own, all on one host.
  std::function<GpuIdentity(uint32_t member)> place;
  std::function<int64_t(uint32_t member)> memory_bytes;  // by default without limit
  bool control_over_nccl = false;                        // otherwise beside it
  bool unified_memory = false;
  uint64_t jitter_seed = 0;
  bool lend = false;  // communicators are made beforehand and lent
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

// By member. The backends keep alive what they need.
struct HostBackends {
  std::shared_ptr<HostMachine> machine;
  std::shared_ptr<HostNccl> nccl;
  std::vector<std::shared_ptr<HostGpu>> gpus;
  std::vector<std::shared_ptr<NcclBackend>> backends;
};
StatusOr<HostBackends> MakeHostBackends(uint32_t member_count, const HostBackendOptions& options);

// Calls `work` for each of `count` members at the same time; the failure of the first that has one.
Status OnAllMembers(size_t count, const std::function<Status(size_t member)>& work);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOUBLE_HOST_BACKENDS_H_
