#include "runtime/exec/nccl/communicator.h"

#include <chrono>
#include <thread>

namespace reshard::nccl {
namespace {

constexpr std::chrono::microseconds kPollInterval(20);

Status Stopped() { return Status(StatusCode::kAborted, "the communicator was stopped"); }

}  // namespace

StatusOr<std::unique_ptr<Communicator>> Communicator::Make(NcclLibrary* library, const UniqueId& id,
                                                           const CommConfig& config,
                                                           Deadline deadline) {
  CommHandle comm = nullptr;
  RESHARD_RETURN_IF_ERROR(library->Init(id, config, &comm));
  std::unique_ptr<Communicator> made(new Communicator(library, comm, /*owned=*/true));
  made->rank_ = config.rank;
  made->rank_count_ = config.rank_count;
  RESHARD_RETURN_IF_ERROR(made->AwaitReady(deadline));
  return made;
}

StatusOr<std::unique_ptr<Communicator>> Communicator::Lend(NcclLibrary* library, CommHandle comm) {
  const StatusOr<CommConfig> config = library->Describe(comm);
  if (!config.ok()) return config.status();
  std::unique_ptr<Communicator> lent(new Communicator(library, comm, /*owned=*/false));
  lent->rank_ = config->rank;
  lent->rank_count_ = config->rank_count;
  return lent;
}

StatusOr<std::unique_ptr<Communicator>> Communicator::Shrink(std::span<const int32_t> excluded,
                                                             Deadline deadline) {
  if (comm_ == nullptr) {
    return Status(
        StatusCode::kUnavailable,
        "this version of NCCL cannot go on with a communicator that failed; make a new one");
  }
  CommHandle comm = nullptr;
  RESHARD_RETURN_IF_ERROR(library_->Shrink(comm_, excluded, &comm));
  std::unique_ptr<Communicator> shrunk(new Communicator(library_, comm, /*owned=*/true));
  RESHARD_RETURN_IF_ERROR(shrunk->AwaitReady(deadline));
  const StatusOr<CommConfig> config = library_->Describe(comm);
  if (!config.ok()) return config.status();
  shrunk->rank_ = config->rank;
  shrunk->rank_count_ = config->rank_count;
  return shrunk;
}

Communicator::~Communicator() {
  if (owned_ && comm_ != nullptr) library_->Destroy(comm_);
}

Status Communicator::AwaitReady(Deadline deadline) {
  for (;;) {
    const StatusOr<bool> pending = library_->IsPending(comm_);
    if (!pending.ok() || !*pending) {
      if (!pending.ok()) Stop();
      return pending.ok() ? Status() : pending.status();
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      Stop();
      return Status(StatusCode::kTimeout, "NCCL did not connect to all ranks in time");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

Status Communicator::Begin() { return stopped_ ? Stopped() : library_->GroupStart(); }

Status Communicator::End(Deadline deadline) {
  RESHARD_RETURN_IF_ERROR(library_->GroupEnd());
  return AwaitReady(deadline);
}

Status Communicator::AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each,
                               StreamHandle stream, Deadline deadline) {
  if (stopped_) return Stopped();
  RESHARD_RETURN_IF_ERROR(library_->AllGather(from, to, bytes_each, comm_, stream));
  return AwaitReady(deadline);
}

Status Communicator::Check() {
  if (stopped_) return Stopped();
  return library_->IsPending(comm_).status();
}

void Communicator::Stop() {
  if (stopped_) return;
  stopped_ = true;
  if (!library_->Stop(comm_)) comm_ = nullptr;
}

}  // namespace reshard::nccl
