// What all parts of the MPI backend need: MPI's results as Status, and waiting without a spin.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_SUPPORT_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_SUPPORT_H_

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"

namespace reshard {

// Ok for MPI_SUCCESS; otherwise kIoError with MPI's own words for `code`.
Status MpiStatus(int code, std::string_view call);

// MPI counts bytes in an int.
inline constexpr int64_t kMaxMpiBytes = INT32_MAX;

// Tests `request`: whether it is over. Error when it failed.
StatusOr<bool> TestRequest(MPI_Request* request, std::string_view call);

// Gives up a request that may never end. Its buffer has to stay for the life of the process: MPI
// cannot take back what is on its way.
void AbandonRequest(MPI_Request* request);

// Called again and again while nothing happens: first lets other threads run, then sleeps for a
// moment, so that ranks that share a core do not take it from those with work.
class IdleWait {
 public:
  void Reset() { idle_calls_ = 0; }
  void Pause();

 private:
  uint32_t idle_calls_ = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_SUPPORT_H_
