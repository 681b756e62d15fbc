#include "runtime/exec/loopback/loopback_job.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

// What the tables about one param take beside its bytes, generously.
constexpr int64_t kParamOverheadBytes = 512;

// More than any execution takes whose waits are bounded.
constexpr std::chrono::hours kUntilItEnds{24 * 365};

// Opens once for all ranks, so that none starts when some cannot.
class StartGate {
 public:
  void Open(bool go) {
    {
      const std::lock_guard lock(mutex_);
      state_ = go ? State::kGo : State::kCancelled;
    }
    changed_.notify_all();
  }
  // False when there is nothing to start.
  bool Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_ != State::kClosed; });
    return state_ == State::kGo;
  }

 private:
  enum class State : uint8_t { kClosed, kGo, kCancelled };
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kClosed;
};

// Calls work(0 .. count - 1) at the same time, each on a thread of its own; none when there
// are not enough threads.
Status OnThreads(size_t count, const std::function<void(size_t)>& work) {
  StartGate gate;
  std::vector<std::thread> threads;
  threads.reserve(count);
  Status status;
  for (size_t i = 0; i < count; ++i) {
    try {
      threads.emplace_back([&gate, &work, i] {
        if (gate.Wait()) work(i);
      });
    } catch (const std::system_error& error) {
      status =
          Status(StatusCode::kUnavailable, "cannot start a thread for each of " +
                                               std::to_string(count) + " ranks: " + error.what());
      break;
    }
  }
  gate.Open(status.ok());
  for (std::thread& thread : threads) thread.join();
  return status;
}

// What the families of the plan take, over all their ranks and instances.
std::optional<int64_t> AddFamily(const Plan& plan, const PlanFamily& family, int64_t unit_bytes,
                                 int64_t sum) {
  std::vector<int64_t> factors = family.loop_extent;
  factors.push_back(static_cast<int64_t>(plan.rank_sets[family.rank_set].size()));
  factors.push_back(unit_bytes);
  const std::optional<int64_t> bytes = CheckedProduct<int64_t>(factors);
  return bytes ? CheckedAdd(sum, *bytes) : std::nullopt;
}

}  // namespace

StatusOr<LoopbackMemory> LoopbackMemoryOf(const Plan& plan) {
  LoopbackMemory memory;
  const Status too_large(StatusCode::kLimitExceeded, "the plan's params have more than 2^63 bytes");
  for (const PlanFamily& family : plan.families) {
    int64_t& side =
        family.side == PlanSide::kSource ? memory.source_bytes : memory.destination_bytes;
    const std::optional<int64_t> padded = CheckedAdd(family.bytes, ParamBuffers::kAlignBytes);
    const std::optional<int64_t> bytes =
        padded ? AddFamily(plan, family,
                           *padded / ParamBuffers::kAlignBytes * ParamBuffers::kAlignBytes, side)
               : std::nullopt;
    const std::optional<int64_t> tables =
        AddFamily(plan, family, kParamOverheadBytes, memory.table_bytes);
    if (!bytes || !tables) return too_large;
    side = *bytes;
    memory.table_bytes = *tables;
  }
  for (const PlanRank& rank : plan.ranks) {
    const std::optional<int64_t> staging = CheckedAdd(memory.staging_bytes, rank.staging_bytes());
    if (!staging) return too_large;
    memory.staging_bytes = *staging;
  }
  int64_t total = memory.table_bytes;
  for (int64_t part : {memory.source_bytes, memory.destination_bytes, memory.staging_bytes}) {
    const std::optional<int64_t> sum = CheckedAdd(total, part);
    if (!sum) return too_large;
    total = *sum;
  }
  return memory;
}

LoopbackJob::~LoopbackJob() = default;

StatusOr<std::unique_ptr<LoopbackJob>> LoopbackJob::Create(const Plan& plan,
                                                           const LoopbackOptions& options) {
  std::unique_ptr<LoopbackJob> job(new LoopbackJob(plan));
  RESHARD_RETURN_IF_ERROR(job->AllocateParams());
  RESHARD_RETURN_IF_ERROR(job->CreateExecutors(options));
  return job;
}

std::span<const LoopbackParam> LoopbackJob::params_of(size_t rank_index) const {
  return params().subspan(first_param_[rank_index],
                          first_param_[rank_index + 1] - first_param_[rank_index]);
}

Status LoopbackJob::AllocateParams() {
  for (const PlanRank& rank : plan_.ranks) {
    first_param_.push_back(params().size());
    RESHARD_RETURN_IF_ERROR(params_.Add(plan_, rank.rank));
  }
  first_param_.push_back(params().size());
  return Status();
}

Status LoopbackJob::CreateExecutors(const LoopbackOptions& options) {
  const auto shared = std::make_shared<SharedPlan>();
  // The plan is the caller's and outlives the job.
  shared->plan = std::shared_ptr<const Plan>(std::shared_ptr<const Plan>(), &plan_);
  shared->index = BuildProgramIndex(plan_);
  group_ = std::make_unique<LoopbackGroup>(static_cast<uint32_t>(plan_.ranks.size()), options.pace);
  ExecutorOptions executor_options;
  executor_options.wait_timeout = options.timeout;
  executor_options.trace = options.trace;
  for (size_t r = 0; r < plan_.ranks.size(); ++r) {
    StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(shared, plan_.ranks[r].rank, group_->backends()[r], executor_options);
    if (!executor.ok()) return executor.status();
    for (const LoopbackParam& param : params_of(r)) {
      RESHARD_RETURN_IF_ERROR((*executor)->Bind(
          {param.side, param.name, param.bytes.data(), static_cast<int64_t>(param.bytes.size())}));
    }
    executors_.push_back(*std::move(executor));
  }
  std::vector<Status> results(executors_.size());
  RESHARD_RETURN_IF_ERROR(OnThreads(
      executors_.size(), [&](size_t r) { results[r] = executors_[r]->Prepare(kUntilItEnds); }));
  for (const std::unique_ptr<Executor>& executor : executors_) {
    stats_.max_staging_bytes = std::max(stats_.max_staging_bytes, executor->arena_bytes());
  }
  return FirstFailure(results);
}

std::vector<RankRecord> LoopbackJob::records() const {
  std::vector<RankRecord> records;
  for (const std::unique_ptr<Executor>& executor : executors_) {
    records.push_back({executor->rank(), &executor->record()});
  }
  return records;
}

Status LoopbackJob::FirstFailure(const std::vector<Status>& results) const {
  RESHARD_RETURN_IF_ERROR(group_->failure());
  const Status* failure = nullptr;
  for (const Status& result : results) {
    // Another rank's failure is the reason for kAborted.
    const bool better =
        !result.ok() && (failure == nullptr || (failure->code() == StatusCode::kAborted &&
                                                result.code() != StatusCode::kAborted));
    if (better) failure = &result;
  }
  return failure == nullptr ? Status() : *failure;
}

Status LoopbackJob::Execute() {
  const auto start = std::chrono::steady_clock::now();
  ++generation_;
  std::vector<Status> results(executors_.size());
  for (size_t r = 0; r < executors_.size(); ++r) {
    results[r] = executors_[r]->Start(nullptr, generation_);
  }
  for (size_t r = 0; r < executors_.size(); ++r) {
    if (results[r].ok()) results[r] = executors_[r]->Wait(kUntilItEnds).status();
  }
  stats_.elapsed = std::chrono::steady_clock::now() - start;
  RESHARD_RETURN_IF_ERROR(FirstFailure(results));
  return Status();
}

}  // namespace reshard
