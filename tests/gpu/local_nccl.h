// LocalNccl: NCCL between ranks of one process and one GPU, by copies on the device.
//
// Where NCCL cannot put several ranks on one GPU, this stands in for it, so that everything else of
// the backend runs on real hardware. A group is over, for its caller, when every message has met
// its other half; a copy then waits for both streams, and both streams wait for the copy.
// Communicators are used by one thread each.
#ifndef RESHARD_TESTS_GPU_LOCAL_NCCL_H_
#define RESHARD_TESTS_GPU_LOCAL_NCCL_H_

#include <memory>

#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/nccl/nccl_library.h"

namespace reshard::nccl {

// All ranks are on `gpu`, which outlives the library and its communicators.
std::shared_ptr<NcclLibrary> MakeLocalNccl(std::shared_ptr<GpuRuntime> gpu);

}  // namespace reshard::nccl

#endif  // RESHARD_TESTS_GPU_LOCAL_NCCL_H_
