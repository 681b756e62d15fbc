#include "runtime/exec/nccl/gpu_kernels.h"

namespace reshard::nccl {
namespace {

constexpr unsigned int kFlagThreads = 32;
constexpr unsigned int kPollNanoseconds = 200;

template <CopyKind kKind>
__global__ void __launch_bounds__(kBlockThreads)
    CopyTilesKernel(CopyTables tables, uint32_t first_tile) {
  RunTile<kKind>(tables, first_tile + blockIdx.x, threadIdx.x, blockDim.x);
}

__device__ bool IsStopped(const uint32_t* stop) {
  return *static_cast<const volatile uint32_t*>(stop) != 0;
}

// Other devices read what earlier kernels of this stream wrote: the store is a release for the
// whole system.
__global__ void SignalKernel(uint64_t* const* flags, uint32_t count, uint64_t value,
                             const uint32_t* stop) {
  if (IsStopped(stop)) return;
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    __threadfence_system();
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flags[i]),
                 "l"(static_cast<unsigned long long>(value))
                 : "memory");
  }
}

__global__ void AwaitKernel(uint64_t* const* flags, uint32_t count, uint64_t value,
                            const uint32_t* stop) {
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    for (;;) {
      unsigned long long reached = 0;
      asm volatile("ld.acquire.sys.global.u64 %0, [%1];"
                   : "=l"(reached)
                   : "l"(flags[i])
                   : "memory");
      if (reached >= value || IsStopped(stop)) break;
      __nanosleep(kPollNanoseconds);
    }
  }
}

}  // namespace

int LaunchCopyKernel(CopyKind kind, const CopyTables& tables, uint32_t first_tile,
                     uint32_t tile_count, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  switch (kind) {
    case CopyKind::kGather:
      CopyTilesKernel<CopyKind::kGather><<<tile_count, kBlockThreads, 0, on>>>(tables, first_tile);
      break;
    case CopyKind::kScatter:
      CopyTilesKernel<CopyKind::kScatter><<<tile_count, kBlockThreads, 0, on>>>(tables, first_tile);
      break;
    case CopyKind::kZero:
      CopyTilesKernel<CopyKind::kZero><<<tile_count, kBlockThreads, 0, on>>>(tables, first_tile);
      break;
  }
  return cudaGetLastError();
}

int LaunchSignalKernel(uint64_t* const* flags, uint32_t count, uint64_t value, const uint32_t* stop,
                       void* stream) {
  SignalKernel<<<1, kFlagThreads, 0, static_cast<cudaStream_t>(stream)>>>(flags, count, value,
                                                                          stop);
  return cudaGetLastError();
}

int LaunchAwaitKernel(uint64_t* const* flags, uint32_t count, uint64_t value, const uint32_t* stop,
                      void* stream) {
  AwaitKernel<<<1, kFlagThreads, 0, static_cast<cudaStream_t>(stream)>>>(flags, count, value, stop);
  return cudaGetLastError();
}

}  // namespace reshard::nccl
