// Opens a GPU with CUDA.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_OPEN_GPU_H_
#define RESHARD_RUNTIME_EXEC_NCCL_OPEN_GPU_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

// Whether this program was built with the CUDA toolkit and NCCL's header.
bool IsBuiltIn();

// The names of the devices of this process, by number. Errors as below.
StatusOr<std::vector<std::string>> ListGpus();

// The runtime of device `device` of this process. kUnavailable without such a device, without a
// driver, and in programs built without CUDA; the message says which.
StatusOr<std::shared_ptr<GpuRuntime>> OpenGpu(int32_t device);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_OPEN_GPU_H_
