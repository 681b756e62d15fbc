#include "runtime/exec/loopback/loopback_job.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/plan/program.h"

namespace reshard {
namespace {

// Wide enough for any element and for vector instructions.
constexpr int64_t kParamAlignBytes = 64;
// What the tables about one param take beside its bytes, generously.
constexpr int64_t kParamOverheadBytes = 512;

// Opens once for all ranks, so that starting threads is not part of the measured time.
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

void LoopbackJob::FreeDelete::operator()(uint8_t* block) const { std::free(block); }

StatusOr<LoopbackMemory> LoopbackMemoryOf(const Plan& plan) {
  LoopbackMemory memory;
  const Status too_large(StatusCode::kLimitExceeded, "the plan's params have more than 2^63 bytes");
  for (const PlanFamily& family : plan.families) {
    int64_t& side =
        family.side == PlanSide::kSource ? memory.source_bytes : memory.destination_bytes;
    const std::optional<int64_t> padded = CheckedAdd(family.bytes, kParamAlignBytes);
    const std::optional<int64_t> bytes =
        padded ? AddFamily(plan, family, *padded / kParamAlignBytes * kParamAlignBytes, side)
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

StatusOr<std::unique_ptr<LoopbackJob>> LoopbackJob::Create(const Plan& plan) {
  std::unique_ptr<LoopbackJob> job(new LoopbackJob(plan));
  RESHARD_RETURN_IF_ERROR(job->AllocateParams());
  RESHARD_RETURN_IF_ERROR(job->CreateExecutors());
  return job;
}

std::span<const LoopbackParam> LoopbackJob::params_of(size_t rank_index) const {
  return std::span(params_).subspan(first_param_[rank_index],
                                    first_param_[rank_index + 1] - first_param_[rank_index]);
}

Status LoopbackJob::AllocateParams() {
  for (const PlanRank& rank : plan_.ranks) {
    first_param_.push_back(params_.size());
    for (ExpectedParam& spec : ParamsOfRank(plan_, rank.rank)) {
      // A block of its own each, so that tools see an access beyond it; never empty.
      const int64_t blocks = spec.bytes / kParamAlignBytes + 1;
      std::unique_ptr<uint8_t, FreeDelete> block(static_cast<uint8_t*>(std::aligned_alloc(
          static_cast<size_t>(kParamAlignBytes), static_cast<size_t>(blocks * kParamAlignBytes))));
      if (!block) {
        return Status(StatusCode::kLimitExceeded, "no memory for '" + spec.name + "' of rank " +
                                                      std::to_string(rank.rank) + ", " +
                                                      std::to_string(spec.bytes) + " bytes");
      }
      const std::span bytes(block.get(), static_cast<size_t>(spec.bytes));
      std::memset(bytes.data(), kUnsetByte, bytes.size());
      params_.push_back({rank.rank, spec.side, spec.family, spec.instance, spec.external,
                         std::move(spec.name), bytes});
      blocks_.push_back(std::move(block));
    }
  }
  first_param_.push_back(params_.size());
  return Status();
}

Status LoopbackJob::CreateExecutors() {
  const ProgramIndex index = BuildProgramIndex(plan_);
  std::vector<LoopbackRank> ranks;
  for (const PlanRank& rank : plan_.ranks) {
    ranks.push_back({rank.rank, rank.staging_bytes()});
  }
  StatusOr<std::unique_ptr<LoopbackWorld>> world = LoopbackWorld::Create(ranks);
  if (!world.ok()) return world.status();
  world_ = *std::move(world);
  stats_.max_staging_bytes = world_->max_arena_bytes();
  for (size_t r = 0; r < ranks.size(); ++r) {
    std::vector<ParamBuffer> buffers;
    for (const LoopbackParam& param : params_of(r)) {
      buffers.push_back(
          {param.side, param.name, param.bytes.data(), static_cast<int64_t>(param.bytes.size())});
    }
    StatusOr<Bindings> bindings = BindParams(plan_, ranks[r].rank, buffers);
    if (!bindings.ok()) return bindings.status();
    StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(plan_, index, ranks[r].rank, *std::move(bindings), world_->transport(r));
    if (!executor.ok()) return executor.status();
    executors_.push_back(*std::move(executor));
  }
  return Status();
}

Status LoopbackJob::Execute(std::chrono::nanoseconds timeout) {
  StartGate gate;
  std::vector<Status> results(executors_.size());
  std::vector<std::thread> threads;
  threads.reserve(executors_.size());
  Status failed_start;
  for (size_t r = 0; r < executors_.size(); ++r) {
    try {
      threads.emplace_back([this, r, timeout, &gate, &results] {
        if (gate.Wait()) results[r] = executors_[r]->Execute({timeout});
      });
    } catch (const std::system_error& error) {
      failed_start = Status(StatusCode::kUnavailable, "cannot start a thread for each of " +
                                                          std::to_string(executors_.size()) +
                                                          " ranks: " + error.what());
      break;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  gate.Open(failed_start.ok());
  for (std::thread& thread : threads) thread.join();
  RESHARD_RETURN_IF_ERROR(std::move(failed_start));
  stats_.elapsed = std::chrono::steady_clock::now() - start;
  RESHARD_RETURN_IF_ERROR(world_->failure());
  for (Status& result : results) RESHARD_RETURN_IF_ERROR(std::move(result));
  ++stats_.executions;
  return Status();
}

Status RunLoopback(const Plan& plan, const LoopbackOptions& options, const LoopbackHooks& hooks,
                   LoopbackStats* stats) {
  StatusOr<std::unique_ptr<LoopbackJob>> created = LoopbackJob::Create(plan);
  if (!created.ok()) return created.status();
  LoopbackJob& job = **created;
  for (uint32_t e = 0; e < options.executions; ++e) {
    if (hooks.fill) {
      for (const LoopbackParam& param : job.params()) hooks.fill(e, param);
    }
    RESHARD_RETURN_IF_ERROR(job.Execute(options.timeout));
    if (stats != nullptr) *stats = job.stats();
    if (!hooks.inspect) continue;
    for (const LoopbackParam& param : job.params()) {
      RESHARD_RETURN_IF_ERROR(hooks.inspect(e, param));
    }
  }
  return Status();
}

}  // namespace reshard
