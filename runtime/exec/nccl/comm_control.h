// CommControl: a control channel over the communicator that the weights use.
//
// For callers who have no other way between their ranks. Members are the communicator's ranks. It
// ends with the communicator: after a failure nothing more is said.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_COMM_CONTROL_H_
#define RESHARD_RUNTIME_EXEC_NCCL_COMM_CONTROL_H_

#include <memory>

#include "runtime/exec/control.h"
#include "runtime/exec/nccl/communicator.h"
#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

// Both outlive the channel.
StatusOr<std::unique_ptr<ControlChannel>> MakeCommControl(GpuRuntime* gpu, Communicator* comm);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_COMM_CONTROL_H_
