#include "runtime/exec/nccl/communicator.h"

#include <chrono>
#include <thread>

namespace reshard::nccl {
namespace {

constexpr std::chrono::microseconds kPollInterval(20);
constexpr std::chrono::seconds kRestTime(5);

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
  const StatusOr<CommDescription> config = library->Describe(comm);
  if (!config.ok()) return config.status();
  std::unique_ptr<Communicator> lent(new Communicator(library, comm, /*owned=*/false));
  lent->rank_ = config->rank;
  lent->rank_count_ = config->rank_count;
  Communicator* const raw = lent.get();
  lent->watchdog_ =
      std::make_unique<Watchdog>([raw] { raw->lost_ = !raw->library_->Stop(raw->comm_); });
  return lent;
}

StatusOr<std::unique_ptr<Communicator>> Communicator::Shrink(std::span<const int32_t> excluded,
                                                             Deadline deadline) {
  if (comm_ == nullptr) {
    return Status(
        StatusCode::kUnavailable,
        "this version of NCCL cannot go on with a communicator that failed; make a new one");
  }
  AwaitRest(deadline);
  CommHandle comm = nullptr;
  RESHARD_RETURN_IF_ERROR(library_->Shrink(comm_, excluded, &comm));
  std::unique_ptr<Communicator> shrunk(new Communicator(library_, comm, /*owned=*/true));
  RESHARD_RETURN_IF_ERROR(shrunk->AwaitReady(deadline));
  const StatusOr<CommDescription> config = library_->Describe(comm);
  if (!config.ok()) return config.status();
  shrunk->rank_ = config->rank;
  shrunk->rank_count_ = config->rank_count;
  return shrunk;
}

Communicator::~Communicator() {
  if (!owned_ || comm_ == nullptr) return;
  AwaitRest(std::chrono::steady_clock::now() + kRestTime);
  library_->Destroy(comm_);
}

// What was stopped may still be winding down.
void Communicator::AwaitRest(Deadline deadline) {
  while (std::chrono::steady_clock::now() < deadline) {
    const StatusOr<bool> pending = library_->IsPending(comm_);
    if (!pending.ok() || !*pending) return;
    std::this_thread::sleep_for(kPollInterval);
  }
}

Status Communicator::AwaitReady(Deadline deadline) {
  for (;;) {
    const StatusOr<bool> pending = library_->IsPending(comm_);
    if (!pending.ok()) return StopFor(pending.status());
    if (!*pending) return Status();
    if (std::chrono::steady_clock::now() >= deadline) {
      return StopFor(Status(StatusCode::kTimeout, "NCCL did not connect to all ranks in time"));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

Status Communicator::Begin() { return failure_.ok() ? library_->GroupStart() : failure_; }

template <class Call>
Status Communicator::Guarded(Deadline deadline, Call call) {
  if (watchdog_ != nullptr) watchdog_->Arm(deadline);
  Status status = call();
  if (watchdog_ != nullptr && watchdog_->Disarm()) {
    if (lost_) comm_ = nullptr;
    failure_ = Status(StatusCode::kTimeout, "a call of NCCL did not return in time");
    return failure_;
  }
  if (!status.ok()) return status;
  return failure_.ok() ? AwaitReady(deadline) : failure_;
}

Status Communicator::End(Deadline deadline) {
  return Guarded(deadline, [&] { return library_->GroupEnd(); });
}

Status Communicator::AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each,
                               StreamHandle stream, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  return Guarded(deadline,
                 [&] { return library_->AllGather(from, to, bytes_each, comm_, stream); });
}

Status Communicator::Check() {
  if (!failure_.ok()) return failure_;
  const StatusOr<bool> pending = library_->IsPending(comm_);
  return pending.ok() ? Status() : StopFor(pending.status());
}

void Communicator::Stop() {
  if (!failure_.ok()) return;
  static_cast<void>(StopFor(Status(StatusCode::kAborted, "the communicator was stopped")));
}

Status Communicator::StopFor(const Status& reason) {
  failure_ = reason;
  if (!library_->Stop(comm_)) comm_ = nullptr;
  return reason;
}

}  // namespace reshard::nccl
