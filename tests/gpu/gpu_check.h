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
  // The device for a rank; those of a device share its runtime or not, as the caller likes.
  std::function<StatusOr<std::shared_ptr<GpuRuntime>>(uint32_t rank)> open_gpu;
  // Null: copies on the device of rank 0 stand in for NCCL.
  std::shared_ptr<NcclLibrary> library;
  std::vector<NamedPlan> plans;
  int64_t kernel_bytes = int64_t{256} * 1024 * 1024;  // moved per kernel case
};

struct GpuCheckTotals {
  int passed = 0;
  int failed = 0;
};

// One table on `out`: a line per kernel case, and per plan and path inside a domain.
GpuCheckTotals RunGpuCheck(const GpuCheckSpec& spec, std::ostream& out);

}  // namespace reshard::nccl

#endif  // RESHARD_TESTS_GPU_GPU_CHECK_H_
