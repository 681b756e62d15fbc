// In the place of mpi_process.cc where MPI is not installed.
#include "runtime/exec/mpi/mpi_process.h"

namespace reshard {

StatusOr<std::unique_ptr<MpiProcess>> MpiProcess::Start(const MpiProcessOptions&) {
  return Status(StatusCode::kUnavailable,
                "this program was built without MPI: install the Debian packages libopenmpi-dev "
                "and openmpi-bin and build it again");
}

}  // namespace reshard
