// MpiPort: messages over a communicator of MPI.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_PORT_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_PORT_H_

#include <mpi.h>

#include <memory>

#include "runtime/exec/messages/message_port.h"

namespace reshard {

// `comm` is used by nobody else, returns errors, and outlives the port.
std::unique_ptr<MessagePort> MakeMpiPort(MPI_Comm comm);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_PORT_H_
