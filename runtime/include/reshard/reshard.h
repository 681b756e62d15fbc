/* libreshard: executes transfer plans made by reshardc.
 *
 *   plan = load                               once per process
 *   backend = ...                             once per rank: how it reaches the other ranks
 *   executor = create(plan, rank, backend)
 *   bind every param of the rank; prepare     collective: all ranks agree on the plan
 *   start, wait, commit                       every step
 *
 * RULES FOR ALL CALLS
 * - Every call returns a reshard_result. RESHARD_OK is 0, errors are negative. After an error,
 *   reshard_last_error() of the same thread says what was found and what was expected; what the
 * call should have written is untouched.
 * - Handles are opaque numbers, not addresses: never dereference one. A handle that is null, freed
 *   or of another kind is RESHARD_ERROR_BAD_HANDLE.
 * - Structs that begin with struct_size are extended at their end by later versions. Set it to
 *   sizeof(the struct) and everything else that is not used to 0, which always means the default;
 *   the *_INIT macros do so. Options may be NULL: all defaults.
 * - Times are nanoseconds. In options and timeouts 0 means the default that is stated;
 *   RESHARD_FOREVER has no end. Sizes are bytes. Text is UTF-8, ended by a zero byte.
 * - The library reads no environment variable, prints nothing, installs no signal handler and lets
 *   no C++ exception out. It says more through a log function, if one is set.
 *
 * THREADS
 * - Handles may be made on one thread and used on another. Calls with different executors and
 *   backends may run at the same time, and calls with plans too. Two calls with one executor at the
 *   same time: the second one gets RESHARD_ERROR_BUSY; reshard_executor_abort may come at any time.
 * - reshard_executor_prepare and reshard_executor_commit are collective: every rank has to call
 *   them. When several ranks live in one process, each needs a thread of its own for these.
 * - An execution runs on a thread of the library between start and wait. (With the MPI backend and
 *   less than MPI_THREAD_MULTIPLE: inside wait, on the caller's thread. prepare, wait and commit on
 *   another thread than the one that made the backend are then RESHARD_ERROR_WRONG_ORDER.)
 *
 * OWNERSHIP
 * - Handles that a call gives out are the caller's, to be freed once, in any order: an executor
 *   keeps alive what it needs of its plan and its backend. Text that a call gives out lives as long
 *   as the handle that it came from, except where stated.
 * - Param buffers stay the caller's. They live until the executor is destroyed or they are unbound.
 */
#ifndef RESHARD_RESHARD_H_
#define RESHARD_RESHARD_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RESHARD_API __attribute__((visibility("default")))
#else
#define RESHARD_API
#endif

/* Rises when something is added. Nothing is ever removed or changed under one major version of the
 * library file (libreshard.so.MAJOR). */
#define RESHARD_ABI_VERSION 1

#define RESHARD_FOREVER INT64_MAX

typedef enum reshard_result {
#define RESHARD_RESULT(name, value, text) name = value,
#include "reshard/reshard_results.def"
#undef RESHARD_RESULT
  RESHARD_RESULT_MAX_ = 0x7fffffff /* the type has 32 bits */
} reshard_result;

typedef enum reshard_side {
  RESHARD_SOURCE = 0,
  RESHARD_DESTINATION = 1,
  RESHARD_SIDE_MAX_ = 0x7fffffff
} reshard_side;

typedef struct reshard_plan reshard_plan;
typedef struct reshard_backend reshard_backend;
typedef struct reshard_executor reshard_executor;

/* ---- The library ---------------------------------------------------------------------------- */

/* RESHARD_ABI_VERSION of the library that runs. */
RESHARD_API uint32_t reshard_abi_version(void);

/* "timeout"; "unknown-result" for other numbers. Lives for ever. */
RESHARD_API const char* reshard_result_name(int32_t result);

/* Of the last call of this thread that failed; "" when none has. Lives until the next call of this
 * thread that fails. */
RESHARD_API const char* reshard_last_error(void);

typedef enum reshard_log_level {
  RESHARD_LOG_ERROR = 0, /* a call has failed; the same text as reshard_last_error() */
  RESHARD_LOG_INFO = 1,  /* what was prepared, and how long it took */
  RESHARD_LOG_LEVEL_MAX_ = 0x7fffffff
} reshard_log_level;

/* Called on the thread of the call that it is about, from several threads at the same time; it must
 * not call the library. `text` lives during the call. */
typedef void (*reshard_log_function)(void* user, reshard_log_level level, const char* text);

/* One function for the whole process; NULL for none, as in the beginning. A call that runs while it
 * is changed may still use the old one. */
RESHARD_API reshard_result reshard_set_log(reshard_log_function function, void* user);

/* ---- Plans ---------------------------------------------------------------------------------- */

typedef struct reshard_plan_options {
  size_t struct_size;
  /* The plan's root digest as 64 hexadecimal digits, as `reshardc verify` prints it: of the plan
   * that was reviewed. Another one is RESHARD_ERROR_CORRUPT_DATA. NULL: any plan. */
  const char* expected_digest;
  /* A larger file is RESHARD_ERROR_LIMIT_EXCEEDED. 0: 2 GiB. */
  uint64_t max_file_bytes;
  /* 0: bounds, digests and, per executor, the local rules of its rank are checked, which every
   * start can afford. 1: all rules, as `reshardc verify` does. */
  int32_t verify_all;
  int32_t reserved;
} reshard_plan_options;
#define RESHARD_PLAN_OPTIONS_INIT \
  { sizeof(reshard_plan_options), NULL, 0, 0, 0 }

/* Reads a plan file into private memory and checks it. Nothing refers to the file afterwards. */
RESHARD_API reshard_result reshard_plan_load(const char* path, const reshard_plan_options* options,
                                             reshard_plan** plan);
/* The same from `bytes` bytes of memory, which are copied. */
RESHARD_API reshard_result reshard_plan_load_memory(const void* data, size_t bytes,
                                                    const reshard_plan_options* options,
                                                    reshard_plan** plan);
RESHARD_API reshard_result reshard_plan_free(reshard_plan* plan);

typedef struct reshard_plan_info {
  size_t struct_size;
  char digest[72]; /* root digest: 64 hexadecimal digits and a zero byte */
  uint32_t rank_count;
  uint32_t round_count;
  int64_t message_count;
  int64_t source_bytes; /* stored by all ranks of the side */
  int64_t destination_bytes;
  int64_t network_bytes;     /* of one execution: between domains, every hop counted */
  int64_t scaleup_bytes;     /* ... copied between ranks of a domain */
  int64_t local_bytes;       /* ... copied inside ranks */
  int64_t max_staging_bytes; /* of any rank */
  int64_t predicted_ns;      /* time of the schedule as modelled */
  int64_t bound_ns;          /* no schedule can be faster */
} reshard_plan_info;

RESHARD_API reshard_result reshard_plan_get_info(const reshard_plan* plan, reshard_plan_info* info);

/* The ranks of the plan, rising: writes at most `capacity` of them (`ranks` may be NULL when it is
 * 0) and always how many there are. */
RESHARD_API reshard_result reshard_plan_get_ranks(const reshard_plan* plan, uint32_t* ranks,
                                                  size_t capacity, size_t* count);

typedef struct reshard_rank_info {
  size_t struct_size;
  size_t param_count;    /* of both sides */
  int64_t staging_bytes; /* memory that an executor of the rank allocates for messages */
  const char* node;      /* names of the topology */
  const char* domain;
  uint32_t gpu; /* in the node */
  uint32_t reserved;
} reshard_rank_info;

RESHARD_API reshard_result reshard_plan_get_rank_info(const reshard_plan* plan, uint32_t rank,
                                                      reshard_rank_info* info);

typedef struct reshard_param_info {
  size_t struct_size;
  const char* name;
  const char* dtype; /* "bf16", "f8e4m3", ...: docs/layout.md */
  reshard_side side;
  int32_t external; /* 1: exists, but is not moved and need not be bound */
  int64_t bytes;
  int32_t element_bytes; /* the address of the buffer is a multiple of it */
  int32_t dim_count;
  const int64_t* shape;   /* dim_count extents */
  const int64_t* strides; /* in elements; row-major */
  size_t share_count;     /* further names of the same buffer, any of which may be bound */
  const char* const* shares;
} reshard_param_info;

/* Param `index`, below param_count of the rank. Text and arrays live as long as the plan. */
RESHARD_API reshard_result reshard_plan_get_param(const reshard_plan* plan, uint32_t rank,
                                                  size_t index, reshard_param_info* info);

/* ---- Backends: how ranks reach each other ---------------------------------------------------- */

typedef struct reshard_loopback_options {
  size_t struct_size;
  /* 0: as fast as memory is. X: the NICs and scale-up ports of the plan's topology carry 1/X of
   * their rate, so that the time of a plan can be measured against its prediction: X must be large
   * enough that this machine can copy faster. */
  double pace;
} reshard_loopback_options;
#define RESHARD_LOOPBACK_OPTIONS_INIT \
  { sizeof(reshard_loopback_options), 0 }

/* All ranks are in this process: writes `member_count` handles into `backends`, one for each rank
 * of a plan, in any order. */
RESHARD_API reshard_result reshard_backend_loopback_create(uint32_t member_count,
                                                           const reshard_loopback_options* options,
                                                           reshard_backend** backends);

/* A few bytes between ranks beside the weights, by means of the caller: torch.distributed with
 * Gloo, a key-value store, MPI. Every member of `group` (rising, `group_count` of them, this one
 * included) calls it with the same group and as many bytes in `mine`; afterwards `all` holds what
 * every member passed, in the order of the group. Returns RESHARD_OK, RESHARD_ERROR_TIMEOUT after
 * `timeout_ns`, or another error; it must not return before it has let go of `mine` and `all`. With
 * RESHARD_ERROR_TIMEOUT it may leave in `all` the parts that have come, this member's included, and
 * the others untouched: errors then name who is missing. Calls come from one thread at a time, also
 * from a thread of the library. */
typedef int32_t (*reshard_all_gather_function)(void* user, const uint32_t* group,
                                               size_t group_count, const void* mine, size_t bytes,
                                               void* all, int64_t timeout_ns);

typedef struct reshard_control {
  size_t struct_size;
  reshard_all_gather_function all_gather;
  void* user;
  uint32_t member; /* this one, below member_count */
  uint32_t member_count;
} reshard_control;
#define RESHARD_CONTROL_INIT \
  { sizeof(reshard_control), NULL, NULL, 0, 0 }

typedef struct reshard_tcp_options {
  size_t struct_size;
  /* Needed. It is used only while the backend is made, on the thread of that call: once, to tell
   * every member the addresses of all. */
  const reshard_control* control;
  /* Of this host, numeric ("10.0.0.5", "fd00::5"), as the other members reach it: not "0.0.0.0" or
   * "::". Members listen at these addresses and nowhere else. NULL: "127.0.0.1", all members are on
   * one host. */
  const char* address;
  int32_t port; /* 0: any that is free */
  /* 1: ranks of one host exchange by messages what they have landed, as between hosts. 0: through
   * memory that they share, where they can reach each other's. */
  int32_t no_shared_memory;
  /* How long to wait for the other members while the backend is made. 0: 30 s. */
  int64_t timeout_ns;
} reshard_tcp_options;
#define RESHARD_TCP_OPTIONS_INIT \
  { sizeof(reshard_tcp_options), NULL, NULL, 0, 0, 0 }

/* TCP: one rank per process (or thread), params in host memory, no further library. Collective over
 * the members of the control channel, which are as many as the plan has ranks, in any order.
 * Whoever wants to connect has to know a secret that only members have got; bytes are neither
 * encrypted nor signed. A member whose process ends is an error of those who wait for it at once,
 * not after their timeout; but not while a child that it forked, without exec, still holds its
 * sockets open. After a failure the ranks that are left make a backend of their own and go on. */
RESHARD_API reshard_result reshard_backend_tcp_create(const reshard_tcp_options* options,
                                                      reshard_backend** backend);

/* MPI: reshard_mpi.h. NCCL: reshard_nccl.h. */

/* As executor_destroy: RESHARD_ERROR_WRONG_ORDER on a thread that must not use the backend, and
 * nothing is destroyed. */
RESHARD_API reshard_result reshard_backend_destroy(reshard_backend* backend);

/* ---- Executors ------------------------------------------------------------------------------- */

typedef struct reshard_executor_options {
  size_t struct_size;
  /* How long one wait for another rank may last in an execution. A rank that waits longer fails,
   * and with it all others. 0: 30 s. */
  int64_t wait_timeout_ns;
  /* 1: keeps what happened when, for reshard_executor_write_trace. */
  int32_t trace;
  /* The first so many executions hash every tensor on both sides and compare. The same on all
   * ranks, which prepare checks. */
  uint32_t verify_executions;
  /* The ranks that have to hold one generation before any of them serves it, such as the
   * tensor-parallel ranks of one replica: this rank among them, the same list on each. NULL: all
   * ranks of the plan. Copied. */
  const uint32_t* replica;
  size_t replica_count;
} reshard_executor_options;
#define RESHARD_EXECUTOR_OPTIONS_INIT \
  { sizeof(reshard_executor_options), 0, 0, 0, NULL, 0 }

/* The part of `rank` in the plan. Local: no other rank takes part. A backend serves one executor at
 * a time, from prepare to destroy; several, one after the other, must be prepared in the same order
 * on all ranks. */
RESHARD_API reshard_result reshard_executor_create(const reshard_plan* plan, uint32_t rank,
                                                   reshard_backend* backend,
                                                   const reshard_executor_options* options,
                                                   reshard_executor** executor);
/* An execution that runs ends with an error on all ranks. */
RESHARD_API reshard_result reshard_executor_destroy(reshard_executor* executor);

#define RESHARD_HOST_DEVICE (-1)

typedef struct reshard_buffer {
  size_t struct_size;
  const char* name; /* of the param, or one of its shares; copied */
  reshard_side side;
  int32_t device; /* of `data`: RESHARD_HOST_DEVICE or the number of a CUDA device */
  void* data;
  int64_t bytes;
  /* What the caller takes the buffer for; compared with the plan where given. */
  const char* dtype;      /* NULL: not compared */
  const int64_t* shape;   /* dim_count extents; NULL: not compared */
  const int64_t* strides; /* in elements; NULL: row-major */
  int32_t dim_count;
  int32_t reserved;
} reshard_buffer;
#define RESHARD_BUFFER_INIT                                                                       \
  {                                                                                               \
    sizeof(reshard_buffer), NULL, RESHARD_SOURCE, RESHARD_HOST_DEVICE, NULL, 0, NULL, NULL, NULL, \
        0, 0                                                                                      \
  }

/* Names the buffer of one param. RESHARD_ERROR_INVALID_ARGUMENT here: no name, one that was bound
 * already, a side or dtype that does not exist, a dim_count that is not 0 to 64. Whether the buffer
 * fits the plan is checked by prepare, which reports all that is wrong at once. Source buffers may
 * share memory. A destination buffer shares memory with nothing, except with a source param that
 * has the same elements at the same bytes, which then stay where they are. */
RESHARD_API reshard_result reshard_executor_bind(reshard_executor* executor,
                                                 const reshard_buffer* buffer);
/* Forgets all buffers; bind and prepare follow. From a bind or unbind on the rank holds no
 * generation, until an execution completes in its new buffers. */
RESHARD_API reshard_result reshard_executor_unbind(reshard_executor* executor);

/* Collective, before the first start and after every change of the buffers: checks the buffers,
 * agrees on the plan's digest with all ranks before any byte moves, allocates all memory and
 * connects. An error on one rank is an error on every rank, which names the ranks that are at
 * fault. After one about plans, ranks or buffers all may bind and prepare again, and start is
 * RESHARD_ERROR_WRONG_ORDER on every rank until that succeeds; one of allocating or connecting is
 * final for the executor. 0: 300 s. */
RESHARD_API reshard_result reshard_executor_prepare(reshard_executor* executor, int64_t timeout_ns);

/* Begins an execution and returns: source params must not change, destination params must not be
 * read until wait returns. `stream`: with a device backend a cudaStream_t, after whose work of this
 * moment source params are read (NULL: the legacy stream); else NULL. `generation` counts the
 * weights: from 1 on, higher in each execution, the same on all ranks. Allocates no memory. */
RESHARD_API reshard_result reshard_executor_start(reshard_executor* executor, void* stream,
                                                  uint64_t generation);

/* RESHARD_OK: all destination params of this rank hold the generation. RESHARD_PENDING: it still
 * runs after timeout_ns (0: only asks). An error is final for this executor: see get_state for what
 * the params hold, and go on with another executor on a new backend. Allocates no memory. */
RESHARD_API reshard_result reshard_executor_wait(reshard_executor* executor, int64_t timeout_ns);

/* Collective over the replica, after wait, whether that succeeded or not: RESHARD_OK only when
 * every rank of the replica has said that it holds one and the same generation in full, in the
 * buffers that are bound now; it is written to `generation` (may be NULL). Until then a rank must
 * not serve what it received. A rank that comes when the others have given up gets
 * RESHARD_ERROR_TIMEOUT. One that is lost in the middle of the call may leave some with RESHARD_OK
 * and others with a timeout. 0: three times wait_timeout_ns, because other ranks may come later by
 * one wait. */
RESHARD_API reshard_result reshard_executor_commit(reshard_executor* executor, int64_t timeout_ns,
                                                   uint64_t* generation);

/* From any thread at any time: the execution ends with an error on all ranks. `reason` is part of
 * its text; may be NULL. A rank that runs none tells the others all the same, at once or when its
 * prepare or commit is over, and its next execution fails. Before the first prepare is over there
 * is none to fail: that prepare, or the next one, is an error on all ranks instead. With NCCL, and
 * with MPI below MPI_THREAD_MULTIPLE from another thread than MPI's, they learn it only from its
 * next execution, or by their timeout. */
RESHARD_API reshard_result reshard_executor_abort(reshard_executor* executor, const char* reason);

typedef struct reshard_executor_state {
  size_t struct_size;
  uint64_t started_generation;  /* by the last start; 0: none yet */
  uint64_t complete_generation; /* the last that wait confirmed in the buffers that are bound; 0:
                                   none. When it is not the one started, destination params may be
                                   a mixture: see get_complete */
  size_t destination_count;     /* destination params that are moved */
  size_t complete_count;        /* of these: in full of the generation started */
  int64_t staging_bytes;        /* really allocated */
  int32_t running;
  int32_t failed;
} reshard_executor_state;

/* Not while an execution runs, except that `running` may be asked for then. */
RESHARD_API reshard_result reshard_executor_get_state(reshard_executor* executor,
                                                      reshard_executor_state* state);

/* Which destination params hold the generation started last in full, none after a bind or unbind:
 * their indices, rising, as in reshard_plan_get_param. Writes at most `capacity`, and always how
 * many there are. */
RESHARD_API reshard_result reshard_executor_get_complete(reshard_executor* executor,
                                                         size_t* indices, size_t capacity,
                                                         size_t* count);

/* ---- What an execution did: this rank, the last execution ------------------------------------ */

typedef struct reshard_stats {
  size_t struct_size;
  int64_t elapsed_ns;
  int64_t sent_bytes; /* to ranks of other domains */
  int64_t received_bytes;
  int64_t read_bytes;      /* from other ranks of the own domain */
  int64_t local_bytes;     /* copied inside the rank */
  int64_t delivered_bytes; /* written into destination params */
  int64_t fill_ns;         /* zeroing what no element fills */
  int64_t pack_ns;         /* gathering params into messages */
  int64_t start_ns;        /* starting sends and receives */
  int64_t copy_ns;         /* scattering messages into params */
  int64_t network_wait_ns; /* waiting for messages */
  int64_t landed_wait_ns;  /* waiting for what another rank of the domain receives */
  int64_t slot_wait_ns;    /* waiting until the domain has read what lay in a receive slot */
  int64_t slowest_wait_ns; /* waited for slowest_peer, of all three kinds */
  uint32_t slowest_peer;   /* UINT32_MAX: nobody was waited for */
  uint32_t peer_count;     /* ranks that it may wait for */
} reshard_stats;

RESHARD_API reshard_result reshard_executor_get_stats(reshard_executor* executor,
                                                      reshard_stats* stats);

typedef struct reshard_peer_wait {
  uint32_t peer;
  uint32_t reserved;
  int64_t wait_ns;
} reshard_peer_wait;

/* By peer, rising: writes at most `capacity`, and always how many there are. */
RESHARD_API reshard_result reshard_executor_get_peer_waits(reshard_executor* executor,
                                                           reshard_peer_wait* waits,
                                                           size_t capacity, size_t* count);

/* With the option `trace`: writes the last execution as a file for Perfetto, in the format of
 * `reshardc simulate --trace`; times count from the beginning of the execution. */
RESHARD_API reshard_result reshard_executor_write_trace(reshard_executor* executor,
                                                        const char* path);

#ifdef __cplusplus
}
#endif

#endif /* RESHARD_RESHARD_H_ */
