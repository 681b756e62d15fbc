#include "tests/gpu/local_nccl.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace reshard::nccl {
namespace {

// Many more than messages can be in flight to one rank.
constexpr size_t kDoneEvents = 2048;

struct LocalComm;

struct Message {
  bool send = false;
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  int32_t peer = 0;
  LocalComm* comm = nullptr;
  EventHandle done = nullptr;  // of the copy, once it was issued
};

struct LocalComm {
  std::string clique;
  CommConfig config;
  StreamHandle copies = nullptr;  // of the messages that it receives
  EventHandle ready = nullptr;    // its stream has come to the group
  std::vector<EventHandle> done;
  size_t next_done = 0;
  // The group that is being put together, then the one that waits for its other halves.
  std::deque<Message> group;
  StreamHandle stream = nullptr;
  bool issued = false;
  bool stopped = false;
  Status error;
};

class LocalNccl final : public NcclLibrary {
 public:
  explicit LocalNccl(std::shared_ptr<GpuRuntime> gpu) : gpu_(std::move(gpu)) {}

  int32_t version() const override { return 0; }
  StatusOr<UniqueId> NewUniqueId() override {
    const std::lock_guard lock(mutex_);
    UniqueId id;
    id.bytes[0] = static_cast<uint8_t>(++ids_);
    return id;
  }
  Status Init(const UniqueId& id, const CommConfig& config, CommHandle* comm) override;
  Status Shrink(CommHandle, std::span<const int32_t>, CommHandle*) override {
    return Status(StatusCode::kUnavailable, "copies on one device cannot be shrunk");
  }
  StatusOr<CommDescription> Describe(CommHandle comm) override {
    const CommConfig& config = CommOf(comm)->config;
    return CommDescription{config.rank, config.rank_count, gpu_->identity().device};
  }
  StatusOr<bool> IsPending(CommHandle comm) override;
  void Destroy(CommHandle comm) override;
  bool Stop(CommHandle comm) override {
    const std::lock_guard lock(mutex_);
    CommOf(comm)->stopped = true;
    Withdraw(CommOf(comm));
    return true;
  }
  // One communicator per thread: the group is that of the communicator.
  Status GroupStart() override { return Status(); }
  Status Send(const uint8_t* from, int64_t bytes, int32_t peer, CommHandle comm,
              StreamHandle stream) override {
    // Only read.
    return Add({true, const_cast<uint8_t*>(from), bytes, peer, CommOf(comm), nullptr}, stream);
  }
  Status Receive(uint8_t* to, int64_t bytes, int32_t peer, CommHandle comm,
                 StreamHandle stream) override {
    return Add({false, to, bytes, peer, CommOf(comm), nullptr}, stream);
  }
  Status GroupEnd() override;
  Status AllGather(const uint8_t*, uint8_t*, int64_t, CommHandle, StreamHandle) override {
    return Status(StatusCode::kUnavailable, "copies on one device gather nothing");
  }

 private:
  using Pair = std::pair<int32_t, int32_t>;
  struct Clique {
    int32_t joined = 0;
    std::map<Pair, std::deque<Message*>> sends, receives;
  };

  static LocalComm* CommOf(CommHandle comm) { return reinterpret_cast<LocalComm*>(comm); }
  Status Add(const Message& message, StreamHandle stream);
  Status Offer(LocalComm* comm);
  Status Copy(Message* send, Message* receive);
  void Withdraw(LocalComm* comm);

  const std::shared_ptr<GpuRuntime> gpu_;
  std::mutex mutex_;
  uint64_t ids_ = 0;
  std::map<std::string, Clique> cliques_;
};

thread_local LocalComm* open_comm = nullptr;

Status LocalNccl::Init(const UniqueId& id, const CommConfig& config, CommHandle* comm) {
  const CurrentDevice current(gpu_.get());
  RESHARD_RETURN_IF_ERROR(current.status());
  auto made = std::make_unique<LocalComm>();
  made->clique.assign(id.bytes.begin(), id.bytes.end());
  made->config = config;
  const StatusOr<StreamHandle> copies = gpu_->CreateStream(/*first=*/false);
  if (!copies.ok()) return copies.status();
  made->copies = *copies;
  for (size_t e = 0; e <= kDoneEvents; ++e) {
    const StatusOr<EventHandle> event = gpu_->CreateEvent();
    if (!event.ok()) return event.status();
    if (e == kDoneEvents) {
      made->ready = *event;
    } else {
      made->done.push_back(*event);
    }
  }
  const std::lock_guard lock(mutex_);
  ++cliques_[made->clique].joined;
  *comm = reinterpret_cast<CommHandle>(made.release());
  return Status();
}

void LocalNccl::Destroy(CommHandle handle) {
  const std::unique_ptr<LocalComm> comm(CommOf(handle));
  const CurrentDevice current(gpu_.get());
  static_cast<void>(gpu_->Synchronize(comm->copies));
  gpu_->DestroyStream(comm->copies);
  gpu_->DestroyEvent(comm->ready);
  for (EventHandle event : comm->done) gpu_->DestroyEvent(event);
}

Status LocalNccl::Add(const Message& message, StreamHandle stream) {
  if (message.peer < 0 || message.peer >= message.comm->config.rank_count) {
    return Status(StatusCode::kInvalidArgument, "no rank " + std::to_string(message.peer));
  }
  open_comm = message.comm;
  message.comm->stream = stream;
  message.comm->group.push_back(message);
  return Status();
}

Status LocalNccl::GroupEnd() {
  LocalComm* const comm = std::exchange(open_comm, nullptr);
  if (comm == nullptr) return Status();
  const CurrentDevice current(gpu_.get());
  RESHARD_RETURN_IF_ERROR(gpu_->Record(comm->ready, comm->stream));
  const std::lock_guard lock(mutex_);
  comm->issued = true;
  return Offer(comm);
}

Status LocalNccl::Offer(LocalComm* comm) {
  Clique& clique = cliques_[comm->clique];
  for (Message& message : comm->group) {
    const Pair pair = message.send ? Pair{comm->config.rank, message.peer}
                                   : Pair{message.peer, comm->config.rank};
    std::deque<Message*>& own = (message.send ? clique.sends : clique.receives)[pair];
    std::deque<Message*>& other = (message.send ? clique.receives : clique.sends)[pair];
    if (other.empty()) {
      own.push_back(&message);
      continue;
    }
    Message* const half = other.front();
    other.pop_front();
    RESHARD_RETURN_IF_ERROR(message.send ? Copy(&message, half) : Copy(half, &message));
  }
  return Status();
}

Status LocalNccl::Copy(Message* send, Message* receive) {
  if (send->bytes != receive->bytes) {
    send->comm->error = receive->comm->error =
        Status(StatusCode::kIoError, std::to_string(send->bytes) + " bytes are sent, " +
                                         std::to_string(receive->bytes) + " expected");
    return Status();
  }
  LocalComm& to = *receive->comm;
  RESHARD_RETURN_IF_ERROR(gpu_->AwaitEvent(to.copies, send->comm->ready));
  RESHARD_RETURN_IF_ERROR(gpu_->AwaitEvent(to.copies, to.ready));
  RESHARD_RETURN_IF_ERROR(gpu_->CopyOnDevice(receive->data, send->data, send->bytes, to.copies));
  const EventHandle done = to.done[to.next_done++ % kDoneEvents];
  RESHARD_RETURN_IF_ERROR(gpu_->Record(done, to.copies));
  send->done = receive->done = done;
  return Status();
}

StatusOr<bool> LocalNccl::IsPending(CommHandle handle) {
  LocalComm* const comm = CommOf(handle);
  const std::lock_guard lock(mutex_);
  if (!comm->error.ok()) return comm->error;
  if (comm->stopped) return false;
  if (cliques_[comm->clique].joined < comm->config.rank_count) return true;
  if (!comm->issued) return false;
  for (const Message& message : comm->group) {
    if (message.done == nullptr) return true;
  }
  for (const Message& message : comm->group) {
    RESHARD_RETURN_IF_ERROR(gpu_->AwaitEvent(comm->stream, message.done));
  }
  comm->group.clear();
  comm->issued = false;
  return false;
}

void LocalNccl::Withdraw(LocalComm* comm) {
  Clique& clique = cliques_[comm->clique];
  for (auto* queues : {&clique.sends, &clique.receives}) {
    for (auto& [pair, queue] : *queues) {
      std::erase_if(queue, [&](const Message* message) { return message->comm == comm; });
    }
  }
  comm->group.clear();
  comm->issued = false;
}

}  // namespace

std::shared_ptr<NcclLibrary> MakeLocalNccl(std::shared_ptr<GpuRuntime> gpu) {
  return std::make_shared<LocalNccl>(std::move(gpu));
}

}  // namespace reshard::nccl
