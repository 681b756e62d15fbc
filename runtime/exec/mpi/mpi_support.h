// What all parts of the MPI backend need: MPI's results as Status, requests to test and give up.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_SUPPORT_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_SUPPORT_H_

#include <mpi.h>

#include <string_view>

#include "runtime/base/status.h"

namespace reshard {

// Ok for MPI_SUCCESS; otherwise kIoError with MPI's own words for `code`.
Status MpiStatus(int code, std::string_view call);

// Tests `request`: whether it is over. Error when it failed.
StatusOr<bool> TestRequest(MPI_Request* request, std::string_view call);

// Gives up a request that may never end. Its buffer has to stay for the life of the process: MPI
// cannot take back what is on its way.
void AbandonRequest(MPI_Request* request);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_SUPPORT_H_
