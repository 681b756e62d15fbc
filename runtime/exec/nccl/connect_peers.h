// ConnectPeers: one small message per pair of ranks that a program will use, so that no connection
// is made while weights wait.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_CONNECT_PEERS_H_
#define RESHARD_RUNTIME_EXEC_NCCL_CONNECT_PEERS_H_

#include "runtime/base/status.h"
#include "runtime/exec/control.h"
#include "runtime/exec/nccl/communicator.h"
#include "runtime/exec/nccl/copy_table.h"
#include "runtime/exec/nccl/device_program.h"
#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

struct ConnectSpec {
  GpuRuntime* gpu = nullptr;
  Communicator* comm = nullptr;
  const DeviceProgram* program = nullptr;
  StreamHandle stream = nullptr;
  EventHandle done = nullptr;  // for its use
  uint32_t phase_ranks = 0;    // pairs of about the same distance go together, so many distances
};

// Collective over all ranks. The messages lie in `scratch`, which has to stay after a failure until
// the stream has come to rest; the error names the ranks that were being connected.
Status ConnectPeers(const ConnectSpec& spec, DeviceBlock* scratch, Deadline deadline);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_CONNECT_PEERS_H_
