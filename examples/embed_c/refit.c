/* Moves the weights of a small model from two trainer ranks to four inference ranks, all in this
 * process, three times. Usage: refit PLAN
 *
 * A real job has one rank per process and a backend that connects processes; everything else stays
 * as it is here. */
#include <pthread.h>
#include <reshard/reshard.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kGenerations = 3 };

struct rank {
  const reshard_plan* plan;
  uint32_t number;
  reshard_backend* backend;
  uint64_t committed;     /* generation that the whole job holds */
  int64_t received_bytes; /* in the last execution */
  char error[512];
};

/* Source params of a step: here, every byte is the number of the step. */
static void train(void* data, int64_t bytes, uint64_t step) {
  memset(data, (int)step, (size_t)bytes);
}

/* Binds all params of the rank to memory of its own. */
static reshard_result bind_all(struct rank* rank, reshard_executor* executor, size_t param_count,
                               reshard_buffer* buffers) {
  for (size_t i = 0; i < param_count; ++i) {
    reshard_param_info param = {.struct_size = sizeof(param)};
    reshard_result result = reshard_plan_get_param(rank->plan, rank->number, i, &param);
    if (result != RESHARD_OK) return result;
    reshard_buffer buffer = RESHARD_BUFFER_INIT;
    buffer.name = param.name;
    buffer.side = param.side;
    buffer.bytes = param.bytes;
    buffer.data = malloc(param.bytes > 0 ? (size_t)param.bytes : 1);
    if (buffer.data == NULL) return RESHARD_ERROR_LIMIT_EXCEEDED;
    buffers[i] = buffer;
    result = reshard_executor_bind(executor, &buffer);
    if (result != RESHARD_OK) return result;
  }
  return RESHARD_OK;
}

/* One step of training, then one of refitting. */
static reshard_result step(struct rank* rank, reshard_executor* executor, size_t param_count,
                           const reshard_buffer* buffers, uint64_t generation) {
  for (size_t i = 0; i < param_count; ++i) {
    if (buffers[i].side == RESHARD_SOURCE) train(buffers[i].data, buffers[i].bytes, generation);
  }
  reshard_result result = reshard_executor_start(executor, NULL, generation);
  if (result == RESHARD_OK) result = reshard_executor_wait(executor, RESHARD_FOREVER);
  /* Only what the whole job holds may be served, whatever became of this rank. */
  const reshard_result committed = reshard_executor_commit(executor, 0, &rank->committed);
  return result == RESHARD_OK ? committed : result;
}

static reshard_result run(struct rank* rank) {
  reshard_executor* executor = NULL;
  reshard_buffer* buffers = NULL;
  reshard_rank_info about = {.struct_size = sizeof(about)};
  reshard_result result = reshard_plan_get_rank_info(rank->plan, rank->number, &about);
  if (result != RESHARD_OK) return result;
  buffers = calloc(about.param_count + 1, sizeof(*buffers));
  if (buffers == NULL) return RESHARD_ERROR_LIMIT_EXCEEDED;

  result = reshard_executor_create(rank->plan, rank->number, rank->backend, NULL, &executor);
  if (result == RESHARD_OK) result = bind_all(rank, executor, about.param_count, buffers);
  if (result == RESHARD_OK) result = reshard_executor_prepare(executor, 0);
  for (uint64_t g = 1; result == RESHARD_OK && g <= kGenerations; ++g) {
    result = step(rank, executor, about.param_count, buffers, g);
  }
  if (result == RESHARD_OK) {
    reshard_stats stats = {.struct_size = sizeof(stats)};
    result = reshard_executor_get_stats(executor, &stats);
    rank->received_bytes = stats.received_bytes;
  }
  if (result != RESHARD_OK) snprintf(rank->error, sizeof(rank->error), "%s", reshard_last_error());
  /* The buffers outlive the executor. */
  if (executor != NULL) reshard_executor_destroy(executor);
  for (size_t i = 0; i < about.param_count; ++i) free(buffers[i].data);
  free(buffers);
  return result;
}

static void* run_thread(void* argument) {
  struct rank* rank = argument;
  return run(rank) == RESHARD_OK ? NULL : rank;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: refit PLAN\n");
    return 2;
  }
  reshard_plan* plan = NULL;
  if (reshard_plan_load(argv[1], NULL, &plan) != RESHARD_OK) {
    fprintf(stderr, "%s: %s\n", argv[1], reshard_last_error());
    return 2;
  }
  enum { kMaxRanks = 64 };
  uint32_t numbers[kMaxRanks];
  size_t count = 0;
  if (reshard_plan_get_ranks(plan, numbers, kMaxRanks, &count) != RESHARD_OK || count > kMaxRanks) {
    fprintf(stderr, "%s: this example runs at most %d ranks\n", argv[1], kMaxRanks);
    return 2;
  }
  reshard_backend* backends[kMaxRanks];
  if (reshard_backend_loopback_create((uint32_t)count, NULL, backends) != RESHARD_OK) {
    fprintf(stderr, "%s\n", reshard_last_error());
    return 2;
  }
  struct rank ranks[kMaxRanks];
  pthread_t threads[kMaxRanks];
  memset(ranks, 0, sizeof(ranks));
  for (size_t i = 0; i < count; ++i) {
    ranks[i].plan = plan;
    ranks[i].number = numbers[i];
    ranks[i].backend = backends[i];
    if (pthread_create(&threads[i], NULL, run_thread, &ranks[i]) != 0) abort();
  }
  int failed = 0;
  for (size_t i = 0; i < count; ++i) {
    void* bad = NULL;
    pthread_join(threads[i], &bad);
    if (bad == NULL) {
      printf("rank %u: generation %llu, received %lld bytes a step\n", ranks[i].number,
             (unsigned long long)ranks[i].committed, (long long)ranks[i].received_bytes);
    } else {
      fprintf(stderr, "rank %u: %s\n", ranks[i].number, ranks[i].error);
      failed = 1;
    }
  }
  for (size_t i = 0; i < count; ++i) reshard_backend_destroy(backends[i]);
  reshard_plan_free(plan);
  return failed;
}
