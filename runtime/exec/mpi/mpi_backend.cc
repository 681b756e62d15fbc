#include "runtime/exec/mpi/mpi_backend.h"

#include <memory>
#include <utility>

#include "runtime/exec/messages/idle_wait.h"
#include "runtime/exec/messages/message_backend.h"
#include "runtime/exec/mpi/mpi_port.h"
#include "runtime/exec/mpi/mpi_support.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

// A copy of `comm` for this backend alone. MPI_Comm_dup would wait for a dead member without end.
StatusOr<MPI_Comm> Duplicate(MPI_Comm comm, Deadline deadline) {
  // MPI writes here when the copy is made, which may be after the deadline.
  auto copy = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Comm_idup(comm, copy.get(), &request), "MPI_Comm_idup"));
  IdleWait idle;
  for (;;) {
    const StatusOr<bool> done = TestRequest(&request, "MPI_Comm_idup");
    if (!done.ok()) return done.status();
    if (*done) break;
    if (Clock::now() >= deadline) {
      (void)copy.release();
      return Status(StatusCode::kTimeout,
                    "a member of the communicator did not take part in making the backend");
    }
    idle.Pause();
  }
  RESHARD_RETURN_IF_ERROR(
      MpiStatus(MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  return *copy;
}

}  // namespace

StatusOr<std::shared_ptr<Backend>> MakeMpiBackend(MPI_Comm comm, const MpiBackendOptions& options) {
  int initialized = 0;
  int finalized = 0;
  (void)MPI_Initialized(&initialized);
  (void)MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    return Status(StatusCode::kWrongOrder, "MPI is not initialized in this process");
  }
  int between_groups = 0;
  if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &between_groups) != MPI_SUCCESS ||
      between_groups != 0) {
    return Status(StatusCode::kInvalidArgument, "the communicator is no intracommunicator");
  }
  int level = MPI_THREAD_SINGLE;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Query_thread(&level), "MPI_Query_thread"));
  const Deadline deadline = Clock::now() + options.timeout;
  StatusOr<MPI_Comm> own = Duplicate(comm, deadline);
  if (!own.ok()) return own.status();
  // The communicator stays for the life of the process: messages may be on their way in it, and
  // giving it back would let MPI use its number again for another one.
  MessageBackendSpec spec;
  spec.name = "mpi";
  spec.port = MakeMpiPort(*own);
  spec.needs_callers_thread = level != MPI_THREAD_MULTIPLE;
  spec.shared_memory = options.shared_memory;
  return MakeMessageBackend(std::move(spec), deadline);
}

}  // namespace reshard
