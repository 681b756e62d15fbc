// Exchange: a few bytes to and from each of some members, with a deadline.
//
// For the time in which a backend is made. Blocking collectives would wait for a dead rank without
// end, and would not say for which.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_EXCHANGE_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_EXCHANGE_H_

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/control.h"

namespace reshard {

struct ExchangePart {
  int member = 0;
  std::span<const uint8_t> out;
  std::span<uint8_t> in;  // exactly as many bytes as the other side has in `out`
};

// Sends and receives all parts. Past the deadline: kTimeout, and the members whose bytes have not
// come, or who have not taken theirs, in *late; the buffers must then stay for the life of the
// process, for MPI may still use them.
Status Exchange(MPI_Comm comm, int tag, std::span<const ExchangePart> parts, Deadline deadline,
                std::vector<int>* late);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_EXCHANGE_H_
