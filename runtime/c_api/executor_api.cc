#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reshard/reshard.h"
#include "runtime/base/dtype.h"
#include "runtime/c_api/api_support.h"
#include "runtime/c_api/handle_table.h"
#include "runtime/c_api/plan_object.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/trace.h"

namespace reshard::c_api {
namespace {

constexpr std::chrono::seconds kPrepareTimeout{300};
// Of the timeout of a wait: another rank may come to its commit later by one wait, and the one that
// collects what all say gives up before the others.
constexpr int kCommitWaits = 3;

struct ExecutorObject {
  std::shared_ptr<PlanObject> plan;
  uint32_t rank = 0;
  bool trace = false;
  std::chrono::nanoseconds commit_timeout{0};
  std::unique_ptr<Executor> executor;
  std::set<std::pair<reshard_side, std::string>> bound;
  std::atomic_flag busy;
};

constexpr uintptr_t kExecutorKind = 3;
HandleTable<reshard_executor, ExecutorObject, kExecutorKind>& Executors() {
  static auto* const table = new HandleTable<reshard_executor, ExecutorObject, kExecutorKind>();
  return *table;
}

// Marks an executor as in use by one call.
class Use {
 public:
  explicit Use(ExecutorObject* object) : object_(object), mine_(!object->busy.test_and_set()) {}
  ~Use() {
    if (mine_) object_->busy.clear();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  bool mine() const { return mine_; }

 private:
  ExecutorObject* const object_;
  const bool mine_;
};

// Runs `body(ExecutorObject&)` when the handle is good and no other thread uses it.
template <class Body>
reshard_result WithExecutor(reshard_executor* handle, Body body) noexcept {
  return Guarded([&] {
    const std::shared_ptr<ExecutorObject> object = Executors().Find(handle);
    if (!object) return BadHandle("executor");
    const Use use(object.get());
    if (!use.mine()) {
      return Fail(RESHARD_ERROR_BUSY, "another thread is inside a call with this executor");
    }
    return body(*object);
  });
}

// What an execution leaves behind may be read when none runs.
Status NotRunning(const ExecutorObject& object) {
  if (!object.executor->running()) return Status();
  return Status(StatusCode::kWrongOrder, "an execution runs: wait for it first");
}

StatusOr<ExecutorOptions> OptionsOf(const reshard_executor_options* given) {
  reshard_executor_options options;
  RESHARD_RETURN_IF_ERROR(ReadStruct(given, sizeof(options), "reshard_executor_options", &options));
  const StatusOr<std::chrono::nanoseconds> timeout =
      Timeout(options.wait_timeout_ns, std::chrono::seconds(30));
  if (!timeout.ok()) return timeout.status();
  ExecutorOptions result;
  result.wait_timeout = *timeout;
  result.trace = options.trace != 0;
  result.verify_executions = options.verify_executions;
  if ((options.replica != nullptr) != (options.replica_count > 0)) {
    return Status(StatusCode::kInvalidArgument,
                  "replica is " + std::string(options.replica == nullptr ? "NULL" : "not NULL") +
                      " and replica_count is " + std::to_string(options.replica_count));
  }
  if (options.replica != nullptr) {
    result.replica.assign(options.replica, options.replica + options.replica_count);
  }
  return result;
}

StatusOr<ParamBuffer> BufferOf(const reshard_buffer& given) {
  ParamBuffer buffer;
  buffer.side = given.side == RESHARD_SOURCE ? PlanSide::kSource : PlanSide::kDestination;
  buffer.name = given.name;
  buffer.data = static_cast<uint8_t*>(given.data);
  buffer.bytes = given.bytes;
  buffer.device = given.device;
  if (given.dtype != nullptr) {
    buffer.dtype = ParseDType(given.dtype);
    if (!buffer.dtype) {
      return Status(StatusCode::kInvalidArgument,
                    "'" + buffer.name + "': there is no dtype '" + given.dtype + "'");
    }
  }
  if (given.dim_count < 0 || given.dim_count > 64) {
    return Status(StatusCode::kInvalidArgument,
                  "'" + buffer.name + "' has a dim_count of " + std::to_string(given.dim_count));
  }
  if (given.shape != nullptr) {
    buffer.has_shape = true;
    buffer.shape.assign(given.shape, given.shape + given.dim_count);
  }
  if (given.strides != nullptr) {
    buffer.strides.assign(given.strides, given.strides + given.dim_count);
  }
  return buffer;
}

int64_t Ns(std::chrono::nanoseconds time) { return time.count(); }

reshard_stats StatsOf(const ExecutionRecord& record) {
  reshard_stats stats{};
  stats.elapsed_ns = Ns(record.elapsed());
  stats.sent_bytes = record.bytes().sent;
  stats.received_bytes = record.bytes().received;
  stats.read_bytes = record.bytes().read;
  stats.local_bytes = record.bytes().local;
  stats.delivered_bytes = record.bytes().delivered;
  stats.fill_ns = Ns(record.stage_time(ExecStage::kFill));
  stats.pack_ns = Ns(record.stage_time(ExecStage::kPack));
  stats.start_ns = Ns(record.stage_time(ExecStage::kStart));
  stats.copy_ns = Ns(record.stage_time(ExecStage::kCopy));
  stats.network_wait_ns = Ns(record.stage_time(ExecStage::kNetworkWait));
  stats.landed_wait_ns = Ns(record.stage_time(ExecStage::kLandedWait));
  stats.slot_wait_ns = Ns(record.stage_time(ExecStage::kSlotWait));
  const ExecutionRecord::PeerWait* const slowest = record.slowest();
  stats.slowest_peer = slowest == nullptr ? UINT32_MAX : slowest->peer;
  stats.slowest_wait_ns = slowest == nullptr ? 0 : Ns(slowest->waited);
  stats.peer_count = static_cast<uint32_t>(record.peer_waits().size());
  return stats;
}

reshard_result Create(const reshard_plan* plan, uint32_t rank, reshard_backend* backend,
                      const reshard_executor_options* given, reshard_executor** handle) {
  if (handle == nullptr) return NullArgument("executor");
  auto object = std::make_shared<ExecutorObject>();
  object->plan = FindPlan(plan);
  if (!object->plan) return BadHandle("plan");
  std::shared_ptr<Backend> connection = FindBackend(backend);
  if (!connection) return BadHandle("backend");
  StatusOr<ExecutorOptions> options = OptionsOf(given);
  if (!options.ok()) return Report(options.status());
  object->rank = rank;
  object->trace = options->trace;
  constexpr auto kMaxWait = std::chrono::nanoseconds::max() / kCommitWaits;
  object->commit_timeout = kCommitWaits * std::min(options->wait_timeout, kMaxWait);
  StatusOr<std::unique_ptr<Executor>> executor =
      Executor::Create(object->plan->shared(), rank, std::move(connection), *std::move(options));
  if (!executor.ok()) return Report(executor.status());
  const Status verified = object->plan->VerifyRankOnce(rank);
  if (!verified.ok()) return Report(verified);
  object->executor = *std::move(executor);
  *handle = Executors().Add(std::move(object));
  return RESHARD_OK;
}

reshard_result Prepare(ExecutorObject& object, int64_t timeout_ns) {
  const StatusOr<std::chrono::nanoseconds> timeout = Timeout(timeout_ns, kPrepareTimeout);
  if (!timeout.ok()) return Report(timeout.status());
  const auto begin = std::chrono::steady_clock::now();
  const Status status = object.executor->Prepare(*timeout);
  if (status.ok() && HasLog()) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - begin);
    Log(RESHARD_LOG_INFO, "rank " + std::to_string(object.rank) + " is prepared in " +
                              std::to_string(took.count()) + " us, with " +
                              std::to_string(object.executor->arena_bytes()) +
                              " bytes of staging memory");
  }
  return Report(status);
}

reshard_result WriteTraceFile(const ExecutorObject& object, const char* path) {
  if (!object.trace) {
    return Report(Status(StatusCode::kWrongOrder, "the executor was created without trace"));
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const RankRecord record{object.rank, &object.executor->record()};
  if (file) WriteTrace({&record, 1}, file);
  file.close();
  if (file) return RESHARD_OK;
  return Report(Status(StatusCode::kIoError,
                       "cannot write '" + std::string(path) + "': " + std::strerror(errno)));
}

}  // namespace
}  // namespace reshard::c_api

using namespace reshard::c_api;  // the functions below are of the global namespace
using reshard::Status;
using reshard::StatusOr;

reshard_result reshard_executor_create(const reshard_plan* plan, uint32_t rank,
                                       reshard_backend* backend,
                                       const reshard_executor_options* options,
                                       reshard_executor** executor) {
  return Guarded([&] { return Create(plan, rank, backend, options, executor); });
}

reshard_result reshard_executor_destroy(reshard_executor* executor) {
  std::shared_ptr<ExecutorObject> removed;  // ends after the call that uses it
  return WithExecutor(executor, [&](ExecutorObject& object) {
    const Status thread = object.executor->CheckThread();
    if (!thread.ok()) return Report(thread);
    removed = Executors().Remove(executor);
    return removed ? RESHARD_OK : BadHandle("executor");
  });
}

reshard_result reshard_executor_bind(reshard_executor* executor, const reshard_buffer* buffer) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    if (buffer == nullptr) return NullArgument("buffer");
    reshard_buffer given;
    const Status read = ReadStruct(buffer, sizeof(given), "reshard_buffer", &given);
    if (!read.ok()) return Report(read);
    if (given.name == nullptr) return NullArgument("the name of a buffer");
    if (given.side != RESHARD_SOURCE && given.side != RESHARD_DESTINATION) {
      return Fail(RESHARD_ERROR_INVALID_ARGUMENT, "'" + std::string(given.name) + "' has side " +
                                                      std::to_string(given.side) +
                                                      ", which is no side");
    }
    StatusOr<reshard::ParamBuffer> bound = BufferOf(given);
    if (!bound.ok()) return Report(bound.status());
    const std::pair key(given.side, bound->name);
    if (object.bound.contains(key)) {
      return Fail(RESHARD_ERROR_INVALID_ARGUMENT, "'" + bound->name + "' is bound already");
    }
    const Status status = object.executor->Bind(*std::move(bound));
    if (status.ok()) object.bound.insert(key);
    return Report(status);
  });
}

reshard_result reshard_executor_unbind(reshard_executor* executor) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    const Status status = object.executor->Unbind();
    if (status.ok()) object.bound.clear();
    return Report(status);
  });
}

reshard_result reshard_executor_prepare(reshard_executor* executor, int64_t timeout_ns) {
  return WithExecutor(executor,
                      [&](ExecutorObject& object) { return Prepare(object, timeout_ns); });
}

reshard_result reshard_executor_start(reshard_executor* executor, void* stream,
                                      uint64_t generation) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    return Report(object.executor->Start(stream, generation));
  });
}

reshard_result reshard_executor_wait(reshard_executor* executor, int64_t timeout_ns) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    const StatusOr<std::chrono::nanoseconds> timeout =
        Timeout(timeout_ns, std::chrono::nanoseconds(0));
    if (!timeout.ok()) return Report(timeout.status());
    const StatusOr<bool> over = object.executor->Wait(*timeout);
    if (!over.ok()) return Report(over.status());
    return *over ? RESHARD_OK : RESHARD_PENDING;
  });
}

reshard_result reshard_executor_commit(reshard_executor* executor, int64_t timeout_ns,
                                       uint64_t* generation) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    const StatusOr<std::chrono::nanoseconds> timeout = Timeout(timeout_ns, object.commit_timeout);
    if (!timeout.ok()) return Report(timeout.status());
    const StatusOr<uint64_t> committed = object.executor->Commit(*timeout);
    if (!committed.ok()) return Report(committed.status());
    if (generation != nullptr) *generation = *committed;
    return RESHARD_OK;
  });
}

reshard_result reshard_executor_abort(reshard_executor* executor, const char* reason) {
  return Guarded([&] {
    const auto object = Executors().Find(executor);
    if (!object) return BadHandle("executor");
    object->executor->Abort(reason == nullptr ? "aborted by the caller"
                                              : "aborted by the caller: " + std::string(reason));
    return RESHARD_OK;
  });
}

reshard_result reshard_executor_get_state(reshard_executor* executor,
                                          reshard_executor_state* state) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    if (state == nullptr) return NullArgument("state");
    const reshard::Executor& inner = *object.executor;
    reshard_executor_state filled{};
    filled.started_generation = inner.started_generation();
    filled.complete_generation = inner.complete_generation();
    filled.staging_bytes = inner.arena_bytes();
    filled.running = inner.running() ? 1 : 0;
    filled.failed = inner.failed() ? 1 : 0;
    if (!inner.running()) {
      const std::vector<bool> complete = inner.CompleteParams();
      filled.destination_count = complete.size();
      filled.complete_count =
          static_cast<size_t>(std::count(complete.begin(), complete.end(), true));
    }
    return Report(WriteStruct(filled, sizeof(filled), "reshard_executor_state", state));
  });
}

reshard_result reshard_executor_get_complete(reshard_executor* executor, size_t* indices,
                                             size_t capacity, size_t* count) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    if (count == nullptr) return NullArgument("count");
    if (indices == nullptr && capacity > 0) return NullArgument("indices");
    const Status idle = NotRunning(object);
    if (!idle.ok()) return Report(idle);
    const RankParams* const params = object.plan->ParamsOf(object.rank);
    const std::vector<bool> complete = object.executor->CompleteParams();
    size_t found = 0;
    for (size_t i = 0; i < complete.size(); ++i) {
      if (!complete[i]) continue;
      const reshard::PreparedParam& param = object.executor->program()->params[i];
      if (found < capacity) indices[found] = params->IndexOf(param.family, param.instance);
      ++found;
    }
    *count = found;
    return RESHARD_OK;
  });
}

reshard_result reshard_executor_get_stats(reshard_executor* executor, reshard_stats* stats) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    if (stats == nullptr) return NullArgument("stats");
    const Status idle = NotRunning(object);
    if (!idle.ok()) return Report(idle);
    return Report(WriteStruct(StatsOf(object.executor->record()), sizeof(reshard_stats),
                              "reshard_stats", stats));
  });
}

reshard_result reshard_executor_get_peer_waits(reshard_executor* executor, reshard_peer_wait* waits,
                                               size_t capacity, size_t* count) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    if (count == nullptr) return NullArgument("count");
    if (waits == nullptr && capacity > 0) return NullArgument("waits");
    const Status idle = NotRunning(object);
    if (!idle.ok()) return Report(idle);
    const auto all = object.executor->record().peer_waits();
    *count = all.size();
    for (size_t i = 0; i < std::min(capacity, all.size()); ++i) {
      waits[i] = {all[i].peer, 0, Ns(all[i].waited)};
    }
    return RESHARD_OK;
  });
}

reshard_result reshard_executor_write_trace(reshard_executor* executor, const char* path) {
  return WithExecutor(executor, [&](ExecutorObject& object) {
    if (path == nullptr) return NullArgument("path");
    const Status idle = NotRunning(object);
    return idle.ok() ? WriteTraceFile(object, path) : Report(idle);
  });
}
