/* libreshard with MPI: params in host memory, one rank per process. Link libreshard_mpi, which is
 * libreshard and this, and the MPI that it was built with (Open MPI 4.1 is what it is tested with).
 * The rules of reshard.h hold.
 *
 * THREADS. With MPI_THREAD_MULTIPLE an execution runs on a thread of the library. With less it runs
 * inside reshard_executor_wait, which then returns only when it is over, and all calls have to come
 * from the thread that may call MPI; the other ranks' executions proceed only while this one waits.
 *
 * COMMUNICATORS. The backend makes a communicator of its own from the caller's (MPI_Comm_idup), on
 * which errors are returned. It is not given back: what a failed rank had on its way stays
 * harmless. Nothing here blocks in MPI: every wait has its deadline, also when a member is dead.
 *
 * FAILURE. mpirun ends a job when one process dies, unless it was started with --enable-recovery.
 * With it, the survivors get an error within their timeouts, make a communicator of themselves
 * (MPI_Comm_create_group), a backend of it, and go on with a plan that was compiled for them
 * (reshardc --exclude-ranks), in the same process and on the same buffers. A process that has seen
 * a failure should end without MPI_Finalize, which waits for the dead. docs/backends.md shows all
 * of it.
 */
#ifndef RESHARD_RESHARD_MPI_H_
#define RESHARD_RESHARD_MPI_H_

#include <mpi.h>

#include "reshard/reshard.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reshard_mpi_options {
  size_t struct_size;
  /* How long to wait for the other members while the backend is made. 0: 30 s. */
  int64_t timeout_ns;
  /* 1: ranks of one host exchange by messages what they have landed, as between hosts. 0: through
   * memory that they share, where they can reach each other's. */
  int32_t no_shared_memory;
  int32_t reserved;
} reshard_mpi_options;
#define RESHARD_MPI_OPTIONS_INIT \
  { sizeof(reshard_mpi_options), 0, 0, 0 }

/* Collective over `comm`, an intracommunicator with as many members as the plan has ranks, in any
 * order. MPI must be initialized (RESHARD_ERROR_WRONG_ORDER). */
RESHARD_API reshard_result reshard_backend_mpi_create(MPI_Comm comm,
                                                      const reshard_mpi_options* options,
                                                      reshard_backend** backend);

#ifdef __cplusplus
}
#endif

#endif /* RESHARD_RESHARD_MPI_H_ */
