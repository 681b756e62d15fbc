// The copy kernels on their own: right against the host, and how fast.
#ifndef RESHARD_TESTS_GPU_KERNEL_CHECK_H_
#define RESHARD_TESTS_GPU_KERNEL_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

// Runs of `run_bytes`, `pitch_bytes` apart in a param, against one message.
struct KernelCase {
  std::string name;
  int64_t run_bytes = 0;
  int64_t pitch_bytes = 0;
  int64_t first_byte = 0;  // of the first run in the param
};
// Rows as they occur: 128 B, 1 KiB, 64 KiB, one piece, and rows that are aligned to little.
std::vector<KernelCase> KernelCases();

struct KernelResult {
  int64_t moved_bytes = 0;
  int64_t wrong_bytes = 0;     // of the message after gathering and of the param after scattering
  double gather_gb_per_s = 0;  // bytes of the message over time, the fastest of several
  double scatter_gb_per_s = 0;
  double plain_gb_per_s = 0;  // the driver's copy of as many adjacent bytes
};

// About `total_bytes` are moved.
StatusOr<KernelResult> CheckKernels(GpuRuntime* gpu, const KernelCase& which, int64_t total_bytes);

}  // namespace reshard::nccl

#endif  // RESHARD_TESTS_GPU_KERNEL_CHECK_H_
