#include "runtime/exec/mpi/mpi_process.h"

#include <mpi.h>

#include <utility>

#include "runtime/exec/mpi/mpi_backend.h"
#include "runtime/exec/mpi/mpi_support.h"

namespace reshard {
namespace {

class Process final : public MpiProcess {
 public:
  explicit Process(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  uint32_t member() const override { return backend_->control()->member(); }
  uint32_t member_count() const override { return backend_->control()->member_count(); }
  std::shared_ptr<Backend> backend() const override { return backend_; }
  void Finish() override {
    backend_.reset();
    MPI_Finalize();
  }

 private:
  std::shared_ptr<Backend> backend_;
};

}  // namespace

StatusOr<std::unique_ptr<MpiProcess>> MpiProcess::Start(const MpiProcessOptions& options) {
  int level = MPI_THREAD_SINGLE;
  RESHARD_RETURN_IF_ERROR(
      MpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread"));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  StatusOr<std::shared_ptr<Backend>> backend =
      MakeMpiBackend(MPI_COMM_WORLD, {options.timeout, options.shared_memory});
  if (!backend.ok()) return backend.status();
  return std::unique_ptr<MpiProcess>(std::make_unique<Process>(*std::move(backend)));
}

}  // namespace reshard
