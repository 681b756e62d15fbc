#include "runtime/exec/nccl/double/device_job.h"

#include <thread>
#include <utility>

#include "runtime/exec/loopback/loopback_control.h"

namespace reshard::nccl {

Status OnAllRanks(size_t count, const std::function<Status(size_t rank_index)>& work) {
  std::vector<Status> results(count);
  std::vector<std::thread> threads;
  for (size_t r = 0; r < count; ++r) {
    threads.emplace_back([&, r] { results[r] = work(r); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) RESHARD_RETURN_IF_ERROR(std::move(result));
  return Status();
}

StatusOr<std::unique_ptr<DeviceJob>> DeviceJob::Create(std::shared_ptr<const Plan> plan,
                                                       const DeviceJobOptions& options) {
  std::unique_ptr<DeviceJob> job(new DeviceJob(options, std::move(plan)));
  RESHARD_RETURN_IF_ERROR(job->Connect());
  RESHARD_RETURN_IF_ERROR(job->BindAndPrepare());
  return job;
}

DeviceJob::DeviceJob(const DeviceJobOptions& options, std::shared_ptr<const Plan> plan)
    : options_(options), plan_(std::make_shared<SharedPlan>()) {
  plan_->index = BuildProgramIndex(*plan);
  plan_->plan = std::move(plan);
}

StatusOr<std::unique_ptr<DeviceJob>> DeviceJob::WithFirstRanks(size_t rank_count,
                                                               std::shared_ptr<const Plan> plan) {
  std::unique_ptr<DeviceJob> job(new DeviceJob(options_, std::move(plan)));
  job->machine_ = machine_;
  job->nccl_ = nccl_;
  job->gpus_.assign(gpus_.begin(), gpus_.begin() + static_cast<ptrdiff_t>(rank_count));
  job->backends_.resize(rank_count);
  std::vector<int32_t> excluded;
  for (size_t r = rank_count; r < backends_.size(); ++r) {
    excluded.push_back(static_cast<int32_t>(r));
  }
  std::vector<std::unique_ptr<ControlChannel>> controls =
      MakeLoopbackControl(static_cast<uint32_t>(rank_count));
  RESHARD_RETURN_IF_ERROR(OnAllRanks(rank_count, [&](size_t r) {
    StatusOr<std::shared_ptr<NcclBackend>> backend = backends_[r]->WithoutRanks(
        excluded, std::move(controls[r]), std::chrono::steady_clock::now() + options_.timeout);
    if (!backend.ok()) return backend.status();
    job->backends_[r] = *std::move(backend);
    return Status();
  }));
  RESHARD_RETURN_IF_ERROR(job->BindAndPrepare());
  return job;
}

DeviceJob::~DeviceJob() {
  executors_.clear();
  backends_.clear();
  for (const auto& [gpu, block] : blocks_) gpu->Free(block);
}

Status DeviceJob::Connect() {
  const std::vector<PlanRank>& ranks = plan_->plan->ranks;
  nccl_ = std::make_shared<HostNccl>(options_.nccl);
  const StatusOr<UniqueId> id = nccl_->NewUniqueId();
  if (!id.ok()) return id.status();
  std::vector<std::unique_ptr<ControlChannel>> controls =
      MakeLoopbackControl(static_cast<uint32_t>(ranks.size()));
  for (const PlanRank& rank : ranks) {
    const GpuIdentity place = options_.place
                                  ? options_.place(rank.rank)
                                  : GpuIdentity{0, rank.rank, static_cast<int32_t>(rank.rank)};
    gpus_.push_back(std::make_shared<HostGpu>(machine_.get(), place));
  }
  backends_.resize(ranks.size());
  return OnAllRanks(ranks.size(), [&](size_t r) {
    CommConfig config;
    config.rank = static_cast<int32_t>(r);
    config.rank_count = static_cast<int32_t>(ranks.size());
    const Deadline deadline = std::chrono::steady_clock::now() + options_.timeout;
    StatusOr<std::unique_ptr<Communicator>> comm =
        Communicator::Make(nccl_.get(), *id, config, deadline);
    if (!comm.ok()) return comm.status();
    NcclBackendSpec spec;
    spec.gpu = gpus_[r];
    spec.library = nccl_;
    spec.comm = *std::move(comm);
    if (!options_.control_over_nccl) spec.control = std::move(controls[r]);
    spec.path = options_.path;
    spec.tuning = options_.tuning;
    StatusOr<std::shared_ptr<NcclBackend>> backend = NcclBackend::Make(std::move(spec));
    if (!backend.ok()) return backend.status();
    backends_[r] = *std::move(backend);
    return Status();
  });
}

Status DeviceJob::BindAndPrepare() {
  const std::vector<PlanRank>& ranks = plan_->plan->ranks;
  ExecutorOptions options;
  options.wait_timeout = options_.timeout;
  for (size_t r = 0; r < ranks.size(); ++r) {
    StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(plan_, ranks[r].rank, backends_[r], options);
    if (!executor.ok()) return executor.status();
    executors_.push_back(*std::move(executor));
    for (ExpectedParam& spec : ParamsOfRank(*plan_->plan, ranks[r].rank)) {
      const StatusOr<uint8_t*> block = gpus_[r]->Allocate(spec.bytes);
      if (!block.ok()) return block.status();
      blocks_.push_back({gpus_[r].get(), *block});
      ParamBuffer buffer;
      buffer.side = spec.side;
      buffer.name = spec.name;
      buffer.data = *block;
      buffer.bytes = spec.bytes;
      buffer.device = gpus_[r]->identity().device;
      RESHARD_RETURN_IF_ERROR(executors_[r]->Bind(buffer));
      params_.push_back({ranks[r].rank, spec.side, spec.family, spec.instance, spec.external,
                         std::move(spec.name), std::span(*block, static_cast<size_t>(spec.bytes))});
    }
  }
  return OnAllRanks(ranks.size(),
                    [&](size_t r) { return executors_[r]->Prepare(options_.timeout); });
}

std::vector<Status> DeviceJob::Execute(const std::function<bool(size_t)>& takes_part) {
  std::vector<Status> results(executors_.size());
  std::vector<std::thread> threads;
  ++generation_;
  for (size_t r = 0; r < executors_.size(); ++r) {
    if (takes_part && !takes_part(r)) continue;
    threads.emplace_back([&, r] {
      results[r] = executors_[r]->Start(nullptr, generation_);
      if (!results[r].ok()) return;
      const StatusOr<bool> done = executors_[r]->Wait(std::chrono::hours(1));
      results[r] = done.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace reshard::nccl
