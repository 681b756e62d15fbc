#include "runtime/exec/mpi/mpi_backend.h"

#include <sys/random.h>

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/exec/host_engine.h"
#include "runtime/exec/mpi/mpi_control.h"
#include "runtime/exec/mpi/mpi_support.h"
#include "runtime/exec/mpi/mpi_transport.h"

namespace reshard {
namespace {

using Clock = std::chrono::steady_clock;

class MpiBackend final : public Backend {
 public:
  MpiBackend(MPI_Comm comm, bool many_threads, const MpiBackendOptions& options)
      : comm_(comm),
        many_threads_(many_threads),
        options_(options),
        control_(MakeMpiControl(comm)) {}
  // The communicator stays: messages may be on their way in it, and giving it back would let
  // MPI use its number again for another one.

  Status AgreeOnNumber(Deadline deadline);

  std::string_view name() const override { return "mpi"; }
  bool needs_callers_thread() const override { return !many_threads_; }
  ControlChannel* control() override { return control_.get(); }
  StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                          Deadline deadline) override;

 private:
  const MPI_Comm comm_;
  const bool many_threads_;
  const MpiBackendOptions options_;
  const std::unique_ptr<ControlChannel> control_;
  uint64_t next_transport_ = 0;
};

// Transports of different backends never have the same number, even of one communicator.
Status MpiBackend::AgreeOnNumber(Deadline deadline) {
  uint64_t mine = 0;
  if (getrandom(&mine, sizeof(mine), 0) != static_cast<ssize_t>(sizeof(mine))) {
    return Status(StatusCode::kIoError, "no random bytes");
  }
  std::vector<uint32_t> everybody(control_->member_count());
  std::iota(everybody.begin(), everybody.end(), 0U);
  std::vector<uint8_t> said(sizeof(mine));
  std::memcpy(said.data(), &mine, sizeof(mine));
  std::vector<uint8_t> all(everybody.size() * sizeof(mine));
  RESHARD_RETURN_IF_ERROR(control_->AllGather(everybody, said, all, deadline));
  std::memcpy(&next_transport_, all.data(), sizeof(next_transport_));
  return Status();
}

StatusOr<std::unique_ptr<ExecutionEngine>> MpiBackend::CreateEngine(const EngineSpec& spec,
                                                                    Deadline deadline) {
  MpiTransportSpec transport_spec;
  transport_spec.engine = &spec;
  transport_spec.comm = comm_;
  transport_spec.number = next_transport_++;
  transport_spec.links.shared_memory = options_.shared_memory;
  StatusOr<std::shared_ptr<RankTransport>> transport = MakeMpiTransport(transport_spec, deadline);
  if (!transport.ok()) return transport.status();
  return MakeHostEngine(spec, *std::move(transport));
}

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
  auto backend = std::make_shared<MpiBackend>(*own, level == MPI_THREAD_MULTIPLE, options);
  RESHARD_RETURN_IF_ERROR(backend->AgreeOnNumber(deadline));
  return std::shared_ptr<Backend>(std::move(backend));
}

}  // namespace reshard
