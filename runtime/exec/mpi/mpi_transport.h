// MpiTransport: the RankTransport of one process among processes connected by MPI.
//
// Network messages go in chunks, in order, and only when their receiver has posted them (kCredit);
// reads inside a domain go through shared memory where they can (domain_links.h). MPI moves bytes
// only inside calls, so every wait polls all of it, and Progress does so between copies. No call
// blocks in MPI: past its deadline a wait ends with an error that names the rank waited for and the
// one that this rank waits for in the end. After a failure whatever is still on its way may go on
// into the arena, which is then kept for the life of the process; params are never touched by MPI.
#ifndef RESHARD_RUNTIME_EXEC_MPI_MPI_TRANSPORT_H_
#define RESHARD_RUNTIME_EXEC_MPI_MPI_TRANSPORT_H_

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/mpi/domain_links.h"

namespace reshard {

struct MpiTransportSpec {
  const EngineSpec* engine = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;  // used by nobody else while the transport exists
  uint64_t number = 0;            // of this transport, the same on all ranks, never used again
  DomainLinkOptions links;
};

// Collective over the ranks of the plan. Has exchanged a first message with every peer and every
// neighbour when it returns.
StatusOr<std::shared_ptr<RankTransport>> MakeMpiTransport(const MpiTransportSpec& spec,
                                                          Deadline deadline);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MPI_MPI_TRANSPORT_H_
