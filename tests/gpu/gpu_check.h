// RunGpuCheck: everything that tools/gpu-check does, on whatever devices it is given.
#ifndef RESHARD_TESTS_GPU_GPU_CHECK_H_
#define RESHARD_TESTS_GPU_GPU_CHECK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/nccl/nccl_library.h"
#include "runtime/plan/plan.h"

namespace reshard::nccl {

struct NamedPlan {
  std::string name;
  std::shared_ptr<const Plan> plan;
};

struct GpuCheckSpec {
  // Device `number` of gpu_count; each call opens it anew or not, as the caller likes.
  std::function<StatusOr<std::shared_ptr<GpuRuntime>>(uint32_t number)> open_gpu;
  uint32_t gpu_count = 1;
  // Null: copies on the first device stand in for NCCL, and all ranks are there. So they are for a
  // plan of more ranks than there are devices, unless the library can put several on one.
  std::shared_ptr<NcclLibrary> library;
  bool several_ranks_per_gpu = false;
  std::vector<NamedPlan> plans;
  int64_t kernel_bytes = int64_t{256} * 1024 * 1024;  // moved per kernel case
  // Where ranks wait for each other on the device, as NCCL and the direct path do, each of their
  // streams (up to five a rank) needs a hardware queue of its own, or a wait can stand before what
  // would end it. A device has 32.
  uint32_t max_waiting_ranks_per_gpu = 6;
};

struct GpuCheckTotals {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

// One table on `out`: a line per kernel case, and per plan and path inside a domain.
GpuCheckTotals RunGpuCheck(const GpuCheckSpec& spec, std::ostream& out);

}  // namespace reshard::nccl

#endif  // RESHARD_TESTS_GPU_GPU_CHECK_H_
