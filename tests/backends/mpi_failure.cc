// A rank of a job of MPI in which another one fails: see failure_rank.h. mpirun starts it.
#include <mpi.h>

#include <span>

#include "reshard/reshard_mpi.h"
#include "tests/backends/failure_rank.h"

namespace reshard {
namespace {

class MpiNetwork final : public FailureNetwork {
 public:
  MpiNetwork() {
    MPI_Comm_rank(MPI_COMM_WORLD, &member_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }

  int member() const override { return member_; }
  reshard_result MakeBackend(std::span<const int> members, int64_t timeout_ns,
                             reshard_backend** backend) override {
    MPI_Comm comm = MPI_COMM_WORLD;
    if (members.size() < static_cast<size_t>(size_)) {
      MPI_Group world = MPI_GROUP_NULL;
      MPI_Group some = MPI_GROUP_NULL;
      MPI_Comm_group(MPI_COMM_WORLD, &world);
      MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &some);
      if (MPI_Comm_create_group(MPI_COMM_WORLD, some, 1, &comm) != MPI_SUCCESS) {
        return RESHARD_ERROR_UNAVAILABLE;
      }
    }
    reshard_mpi_options options = RESHARD_MPI_OPTIONS_INIT;
    options.timeout_ns = timeout_ns;
    return reshard_backend_mpi_create(comm, &options, backend);
  }
  void Barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void Progress() override {
    int here = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
  }

 private:
  int member_ = 0;
  int size_ = 0;
};

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  reshard::MpiNetwork network;
  reshard::RunFailureRank(std::span(argv, static_cast<size_t>(argc)).subspan(1), &network);
}
