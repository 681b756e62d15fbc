#include "runtime/exec/nccl/double/device_job.h"

#include <thread>
#include <utility>

#include "runtime/exec/loopback/loopback_control.h"

namespace reshard::nccl {

StatusOr<std::unique_ptr<DeviceJob>> DeviceJob::Create(std::shared_ptr<const Plan> plan,
                                                       const HostBackendOptions& options) {
  std::unique_ptr<DeviceJob> job(new DeviceJob(options, std::move(plan)));
  const auto rank_count = static_cast<uint32_t>(job->plan_->plan->ranks.size());
  StatusOr<HostBackends> host = MakeHostBackends(rank_count, options);
  if (!host.ok()) return host.status();
  job->host_ = *std::move(host);
  RESHARD_RETURN_IF_ERROR(job->BindAndPrepare());
  return job;
}

DeviceJob::DeviceJob(const HostBackendOptions& options, std::shared_ptr<const Plan> plan)
    : options_(options), plan_(std::make_shared<SharedPlan>()) {
  plan_->index = BuildProgramIndex(*plan);
  plan_->plan = std::move(plan);
}

StatusOr<std::unique_ptr<DeviceJob>> DeviceJob::WithFirstRanks(size_t rank_count,
                                                               std::shared_ptr<const Plan> plan) {
  std::unique_ptr<DeviceJob> job(new DeviceJob(options_, std::move(plan)));
  job->host_ = host_;
  job->host_.gpus.resize(rank_count);
  job->host_.backends.resize(rank_count);
  std::vector<int32_t> excluded;
  for (size_t r = rank_count; r < host_.backends.size(); ++r) {
    excluded.push_back(static_cast<int32_t>(r));
  }
  std::vector<std::unique_ptr<ControlChannel>> controls =
      MakeLoopbackControl(static_cast<uint32_t>(rank_count));
  RESHARD_RETURN_IF_ERROR(OnAllMembers(rank_count, [&](size_t r) {
    StatusOr<std::shared_ptr<NcclBackend>> backend = host_.backends[r]->WithoutRanks(
        excluded, std::move(controls[r]), std::chrono::steady_clock::now() + options_.timeout);
    if (!backend.ok()) return backend.status();
    job->host_.backends[r] = *std::move(backend);
    return Status();
  }));
  RESHARD_RETURN_IF_ERROR(job->BindAndPrepare());
  return job;
}

DeviceJob::~DeviceJob() {
  executors_.clear();
  host_.backends.clear();
  for (const auto& [gpu, block] : blocks_) gpu->Free(block);
}

Status DeviceJob::BindAndPrepare() {
  const std::vector<PlanRank>& ranks = plan_->plan->ranks;
  ExecutorOptions options;
  options.wait_timeout = options_.timeout;
  for (size_t r = 0; r < ranks.size(); ++r) {
    StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(plan_, ranks[r].rank, host_.backends[r], options);
    if (!executor.ok()) return executor.status();
    executors_.push_back(*std::move(executor));
    for (ExpectedParam& spec : ParamsOfRank(*plan_->plan, ranks[r].rank)) {
      const CurrentDevice current(host_.gpus[r].get());
      const StatusOr<uint8_t*> block = host_.gpus[r]->Allocate(spec.bytes);
      if (!block.ok()) return block.status();
      blocks_.push_back({host_.gpus[r].get(), *block});
      ParamBuffer buffer;
      buffer.side = spec.side;
      buffer.name = spec.name;
      buffer.data = *block;
      buffer.bytes = spec.bytes;
      buffer.device = host_.gpus[r]->identity().device;
      RESHARD_RETURN_IF_ERROR(executors_[r]->Bind(buffer));
      params_.push_back({ranks[r].rank, spec.side, spec.family, spec.instance, spec.external,
                         std::move(spec.name), std::span(*block, static_cast<size_t>(spec.bytes))});
    }
  }
  return OnAllMembers(ranks.size(),
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
