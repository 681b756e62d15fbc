#include <mpi.h>

#include <chrono>
#include <memory>

#include "reshard/reshard_mpi.h"
#include "runtime/c_api/api_support.h"
#include "runtime/exec/mpi/mpi_backend.h"

using reshard::StatusOr;
using namespace reshard::c_api;  // the function below is of the global namespace

reshard_result reshard_backend_mpi_create(MPI_Comm comm, const reshard_mpi_options* options,
                                          reshard_backend** backend) {
  return Guarded([&] {
    if (backend == nullptr) return NullArgument("backend");
    reshard_mpi_options given;
    const reshard::Status read = ReadStruct(options, sizeof(given), "reshard_mpi_options", &given);
    if (!read.ok()) return Report(read);
    reshard::MpiBackendOptions made;
    const StatusOr<std::chrono::nanoseconds> timeout = Timeout(given.timeout_ns, made.timeout);
    if (!timeout.ok()) return Report(timeout.status());
    made.timeout = *timeout;
    made.shared_memory = given.no_shared_memory == 0;
    StatusOr<std::shared_ptr<reshard::Backend>> created = reshard::MakeMpiBackend(comm, made);
    if (!created.ok()) return Report(created.status());
    return AddBackend(*std::move(created), backend);
  });
}
