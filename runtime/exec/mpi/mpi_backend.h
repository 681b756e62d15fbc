// The MPI backend: every rank is a process, params lie in host memory.
//
// Open MPI 4.1 is what it is tested with. It makes a communicator of its own from the caller's and
// sets MPI_ERRORS_RETURN on it. With MPI_THREAD_MULTIPLE an execution runs on a thread of the
// executor; with less, inside the caller's Wait, on the thread that made the backend, which then
// has to make all calls. When a rank has failed, the others go on on a communicator of survivors
// (MPI_Comm_create_group) with a backend of its own; `mpirun --enable-recovery` has to allow that.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_BACKEND_H_

#include <mpi.h>

#include <chrono>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"

namespace reshard {

struct MpiBackendOptions {
  // How long to wait for the other members while the backend is made.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  // False: also ranks of one host exchange what they have landed by messages.
  bool shared_memory = true;
};

// Collective over `comm`, an intracommunicator of a process that has initialized MPI.
StatusOr<std::shared_ptr<Backend>> MakeMpiBackend(MPI_Comm comm, const MpiBackendOptions& options);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_BACKEND_H_
