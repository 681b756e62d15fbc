#include "tests/gpu/plan_run.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/exec/loopback/loopback_control.h"
#include "runtime/exec/loopback/param_buffers.h"
#include "runtime/exec/nccl/nccl_backend.h"
#include "runtime/run/layout_oracle.h"

namespace reshard::nccl {
namespace {

// One rank: its device, its params there, and their copies on the host.
struct Rank {
  uint32_t rank = 0;
  std::shared_ptr<GpuRuntime> gpu;
  ParamBuffers host;
  std::vector<uint8_t*> device;  // by param
  std::unique_ptr<Executor> executor;
  std::vector<uint64_t> source_hashes;
  RankCheck check;

  ~Rank() {
    executor.reset();
    for (uint8_t* block : device) gpu->Free(block);
  }
};

class PlanRun {
 public:
  PlanRun(std::shared_ptr<const Plan> plan, const PlanRunSpec& spec)
      : spec_(spec), plan_(std::make_shared<SharedPlan>()), oracle_(*plan) {
    plan_->index = BuildProgramIndex(*plan);
    plan_->plan = std::move(plan);
    for (const PlanRank& rank : plan_->plan->ranks) {
      ranks_.push_back(std::make_unique<Rank>());
      ranks_.back()->rank = rank.rank;
    }
  }

  StatusOr<PlanRunResult> Run() {
    PlanRunResult result;
    RESHARD_RETURN_IF_ERROR(Connect());
    for (uint32_t execution = 1; execution <= spec_.executions; ++execution) {
      RESHARD_RETURN_IF_ERROR(OnAll([&](Rank& rank, size_t) { return Upload(&rank, execution); }));
      RESHARD_RETURN_IF_ERROR(OnAll([&](Rank& rank, size_t) { return Execute(&rank, execution); }));
      RESHARD_RETURN_IF_ERROR(OnAll([&](Rank& rank, size_t) { return Compare(&rank, execution); }));
      Add(execution, &result);
    }
    return result;
  }

 private:
  Status OnAll(const std::function<Status(Rank& rank, size_t number)>& work) {
    std::vector<Status> results(ranks_.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      threads.emplace_back([&, r] { results[r] = work(*ranks_[r], r); });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (results[r].ok()) continue;
      return Status(results[r].code(),
                    "rank " + std::to_string(ranks_[r]->rank) + ": " + results[r].message());
    }
    return Status();
  }

  Status Connect() {
    const StatusOr<UniqueId> id = spec_.library->NewUniqueId();
    if (!id.ok()) return id.status();
    auto controls = MakeLoopbackControl(static_cast<uint32_t>(ranks_.size()));
    RESHARD_RETURN_IF_ERROR(OnAll([&](Rank& rank, size_t number) {
      return Open(&rank, number, *id, std::move(controls[number]));
    }));
    return OnAll([&](Rank& rank, size_t) { return rank.executor->Prepare(spec_.timeout); });
  }

  Status Open(Rank* rank, size_t number, const UniqueId& id,
              std::unique_ptr<ControlChannel> control) {
    StatusOr<std::shared_ptr<GpuRuntime>> gpu = spec_.open_gpu(rank->rank);
    if (!gpu.ok()) return gpu.status();
    rank->gpu = *std::move(gpu);
    const CurrentDevice current(rank->gpu.get());
    RESHARD_RETURN_IF_ERROR(current.status());
    const CommConfig config{static_cast<int32_t>(number), static_cast<int32_t>(ranks_.size()), 0};
    StatusOr<std::unique_ptr<Communicator>> comm =
        Communicator::Make(spec_.library.get(), id, config, DeadlineIn(spec_.timeout));
    if (!comm.ok()) return comm.status();
    StatusOr<std::shared_ptr<NcclBackend>> backend = NcclBackend::Make(
        {rank->gpu, spec_.library, *std::move(comm), std::move(control), spec_.path, spec_.tuning});
    if (!backend.ok()) return backend.status();
    ExecutorOptions options;
    options.wait_timeout = spec_.timeout;
    StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(plan_, rank->rank, *std::move(backend), options);
    if (!executor.ok()) return executor.status();
    rank->executor = *std::move(executor);
    RESHARD_RETURN_IF_ERROR(rank->host.Add(*plan_->plan, rank->rank));
    for (const LoopbackParam& param : rank->host.params()) {
      const auto bytes = static_cast<int64_t>(param.bytes.size());
      const StatusOr<uint8_t*> block = rank->gpu->Allocate(bytes);
      if (!block.ok()) return block.status();
      rank->device.push_back(*block);
      ParamBuffer buffer;
      buffer.side = param.side;
      buffer.name = param.name;
      buffer.data = *block;
      buffer.bytes = bytes;
      buffer.device = rank->gpu->identity().device;
      RESHARD_RETURN_IF_ERROR(rank->executor->Bind(buffer));
    }
    return Status();
  }

  Status Upload(Rank* rank, uint32_t execution) {
    const CurrentDevice current(rank->gpu.get());
    RESHARD_RETURN_IF_ERROR(current.status());
    oracle_.Fill(rank->host.params(), execution);
    rank->source_hashes = LayoutOracle::HashSources(rank->host.params());
    for (size_t p = 0; p < rank->device.size(); ++p) {
      const std::span<uint8_t> bytes = rank->host.params()[p].bytes;
      RESHARD_RETURN_IF_ERROR(rank->gpu->CopyToDevice(rank->device[p], bytes.data(),
                                                      static_cast<int64_t>(bytes.size())));
    }
    return Status();
  }

  Status Execute(Rank* rank, uint32_t execution) {
    RESHARD_RETURN_IF_ERROR(rank->executor->Start(nullptr, execution));
    const StatusOr<bool> done = rank->executor->Wait(std::chrono::nanoseconds::max());
    return done.status();
  }

  Status Compare(Rank* rank, uint32_t execution) {
    const CurrentDevice current(rank->gpu.get());
    RESHARD_RETURN_IF_ERROR(current.status());
    for (size_t p = 0; p < rank->device.size(); ++p) {
      const std::span<uint8_t> bytes = rank->host.params()[p].bytes;
      RESHARD_RETURN_IF_ERROR(
          rank->gpu->CopyToHost(bytes.data(), rank->device[p], static_cast<int64_t>(bytes.size())));
    }
    rank->check = oracle_.CheckDestination(rank->host.params(), execution);
    const RankCheck sources = LayoutOracle::CheckSource(rank->host.params(), rank->source_hashes);
    rank->check.compared_bytes += sources.compared_bytes;
    rank->check.wrong_bytes += sources.wrong_bytes;
    if (sources.first) rank->check.first = sources.first;
    return Status();
  }

  void Add(uint32_t execution, PlanRunResult* result) {
    std::chrono::nanoseconds slowest{0};
    result->delivered_bytes = 0;
    for (const auto& rank : ranks_) {
      result->compared_bytes += rank->check.compared_bytes;
      result->wrong_bytes += rank->check.wrong_bytes;
      if (rank->check.first && result->first_wrong.empty()) {
        const Finding& first = *rank->check.first;
        result->first_wrong = "rank " + std::to_string(rank->rank) + ", " +
                              rank->host.params()[first.param].name + ", byte " +
                              std::to_string(first.offset_bytes);
      }
      slowest = std::max(slowest, rank->executor->record().elapsed());
      result->delivered_bytes += rank->executor->record().bytes().delivered;
    }
    if (execution == 1 || slowest < result->fastest) result->fastest = slowest;
  }

  const PlanRunSpec& spec_;
  const std::shared_ptr<SharedPlan> plan_;
  const LayoutOracle oracle_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace

StatusOr<PlanRunResult> RunPlanOnGpus(std::shared_ptr<const Plan> plan, const PlanRunSpec& spec) {
  return PlanRun(std::move(plan), spec).Run();
}

}  // namespace reshard::nccl
