// The kernels of the NCCL backend, as launches. Only where the build has CUDA.
//
// Each returns a cudaError_t. `stream` is a cudaStream_t.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_GPU_KERNELS_H_
#define RESHARD_RUNTIME_EXEC_NCCL_GPU_KERNELS_H_

#include <cstdint>

#include "runtime/exec/nccl/copy_kernel.h"

namespace reshard::nccl {

int LaunchCopyKernel(CopyKind kind, const CopyTables& tables, uint32_t first_tile,
                     uint32_t tile_count, void* stream);
int LaunchSignalKernel(uint64_t* const* flags, uint32_t count, uint64_t value, const uint32_t* stop,
                       void* stream);
int LaunchAwaitKernel(uint64_t* const* flags, uint32_t count, uint64_t value, const uint32_t* stop,
                      void* stream);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_GPU_KERNELS_H_
