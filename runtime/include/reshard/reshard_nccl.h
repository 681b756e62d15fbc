/* libreshard with NCCL: params in GPU memory, one rank per process or thread and GPU.
 *
 * In a library built without CUDA, and on machines without a GPU or without NCCL, these functions
 * exist and return RESHARD_ERROR_UNAVAILABLE; reshard_last_error() says which it is. NCCL is opened
 * when the first of them is called: the libnccl.so.2 that the process has loaded already (as
 * PyTorch does), else the file that the caller names, else the one that the system finds. The rules
 * of reshard.h hold.
 *
 * STREAMS. All work is done on streams of the library; reshard_executor_start makes it wait for the
 * caller's stream. The communicator must not be used for anything else between start and wait.
 *
 * FAILURE. When an execution fails, the communicator is stopped: with ncclCommRevoke where the
 * library has it (2.28), after which the ranks that are left go on with
 * reshard_backend_nccl_shrink; with ncclCommAbort otherwise, after which a communicator that the
 * caller lent exists no more and must not be destroyed again.
 */
#ifndef RESHARD_RESHARD_NCCL_H_
#define RESHARD_RESHARD_NCCL_H_

#include "reshard/reshard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A ncclUniqueId. */
typedef struct reshard_nccl_id {
  unsigned char bytes[128];
} reshard_nccl_id;

/* For one rank to make and to give to all others. `library`: as in reshard_nccl_options. */
RESHARD_API reshard_result reshard_nccl_get_id(const char* library, reshard_nccl_id* id);

/* How bytes that one GPU of a domain has received reach the others that need them. */
typedef enum reshard_nccl_path {
  RESHARD_NCCL_PATH_AUTO = 0,   /* direct where all ranks of a domain reach each other's memory */
  RESHARD_NCCL_PATH_DIRECT = 1, /* kernels read the other GPU's memory (CUDA IPC, NVLink); an error
                                   where that does not work */
  RESHARD_NCCL_PATH_NCCL = 2,   /* messages of NCCL, in the groups of the network */
  RESHARD_NCCL_PATH_MAX_ = 0x7fffffff
} reshard_nccl_path;

typedef struct reshard_nccl_options {
  size_t struct_size;
  const char* library; /* file of NCCL, for processes that have not loaded it; NULL: libnccl.so.2 */
  int32_t device;      /* number of the CUDA device, as in reshard_buffer */
  reshard_nccl_path path;
  /* A ncclComm_t of all ranks of the plan, which stays the caller's and outlives the backend; or
   * NULL, and then: */
  void* communicator;
  const reshard_nccl_id* id;
  int32_t rank; /* in the new communicator: any order, each of 0 .. rank_count - 1 once */
  int32_t rank_count;
  /* The new communicator gets as many channels per peer as the fastest NIC of this plan needs.
   * NULL: as NCCL decides. */
  const reshard_plan* plan;
  /* NULL: over the communicator itself. Then a timeout cannot say who is missing. */
  const reshard_control* control;
  int64_t timeout_ns; /* for connecting; 0: 300 s */
} reshard_nccl_options;
#define RESHARD_NCCL_OPTIONS_INIT \
  { sizeof(reshard_nccl_options), NULL, 0, RESHARD_NCCL_PATH_AUTO, NULL, NULL, 0, 0, NULL, NULL, 0 }

/* Of this rank. With an id: collective over all ranks of the communicator. */
RESHARD_API reshard_result reshard_backend_nccl_create(const reshard_nccl_options* options,
                                                       reshard_backend** backend);

/* A backend of the ranks that are left: collective over the communicator without the ranks
 * `excluded` (rising, ranks of the communicator), whatever has become of those. `control` is a
 * channel of the ranks that are left, or NULL. A plan that was compiled with --exclude-ranks goes
 * on with it. 0: 300 s. */
RESHARD_API reshard_result reshard_backend_nccl_shrink(
    reshard_backend* backend, const int32_t* excluded, size_t excluded_count,
    const reshard_control* control, int64_t timeout_ns, reshard_backend** shrunk);

#ifdef __cplusplus
}
#endif

#endif /* RESHARD_RESHARD_NCCL_H_ */
