#include "runtime/exec/nccl/double/host_nccl.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/exec/nccl/double/host_gpu.h"

namespace reshard::nccl {
namespace {

// So often a communicator says that it is still working on a call.
constexpr uint32_t kPendingPolls = 2;
constexpr size_t kMaxGroups = 32;  // in flight per communicator

struct Operation {
  enum class State : uint8_t { kNew, kOffered, kTaken, kDone };
  bool send = false;
  const uint8_t* from = nullptr;
  uint8_t* to = nullptr;
  int64_t bytes = 0;
  int32_t peer = 0;
  HostComm* comm = nullptr;
  Operation* next = nullptr;  // in the queue of its pair
  State state = State::kNew;  // this and `next`: guarded by the clique's mutex
};

struct Group {
  std::vector<Operation> operations;
  StreamHandle stream = nullptr;
  bool free = true;  // guarded by the clique's mutex
};

// splitmix64
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

class HostComm {
 public:
  HostComm(HostClique* clique, const CommConfig& config, const HostNcclOptions& options)
      : clique_(*clique),
        config_(config),
        options_(options),
        random_(options.seed + 977ULL * static_cast<uint64_t>(config.rank)),
        groups_(kMaxGroups) {
    for (Group& group : groups_) group.operations.reserve(64);
  }

  HostClique& clique() { return clique_; }
  const CommConfig& config() const { return config_; }
  uint64_t CountShrink() { return ++shrinks_; }
  StatusOr<bool> IsPending();
  Status Add(const Operation& operation, StreamHandle stream);
  // Whether there was anything in it.
  bool EndGroup(bool await);
  void Stop();

 private:
  void Run(Group* group);
  void Offer(Group* group);
  void Match(Operation* send, Operation* receive, std::unique_lock<std::mutex>* lock);
  void Withdraw(Group* group, std::unique_lock<std::mutex>* lock);
  std::string Waiting(const Group& group) const;
  void Fail(const std::string& what);

  HostClique& clique_;
  const CommConfig config_;
  const HostNcclOptions options_;
  uint64_t random_;
  uint64_t shrinks_ = 0;
  uint32_t pending_polls_ = kPendingPolls;
  std::vector<Group> groups_;
  Group* open_ = nullptr;  // the group that operations are added to
  bool stopped_ = false;   // these two: guarded by the clique's mutex
  Status error_;
};

class HostClique {
 public:
  explicit HostClique(int32_t size)
      : members(static_cast<size_t>(size)), queues(2 * static_cast<size_t>(size * size)) {}

  Operation*& Queue(bool sends, int32_t from, int32_t to) {
    const auto size = static_cast<int32_t>(members.size());
    return queues[static_cast<size_t>((from * size + to) * 2 + (sends ? 0 : 1))];
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<HostComm>> members;
  int32_t joined = 0;
  std::vector<Operation*> queues;
};

namespace {

HostComm* CommOf(CommHandle comm) { return reinterpret_cast<HostComm*>(comm); }

// Of the calling thread, as in NCCL.
thread_local int group_depth = 0;
thread_local std::vector<HostComm*> group_comms;

}  // namespace

StatusOr<bool> HostComm::IsPending() {
  const std::lock_guard lock(clique_.mutex);
  if (!error_.ok()) return error_;
  if (stopped_) return false;
  if (clique_.joined < config_.rank_count) return true;
  if (pending_polls_ == 0) return false;
  --pending_polls_;
  return true;
}

Status HostComm::Add(const Operation& operation, StreamHandle stream) {
  if (operation.peer < 0 || operation.peer >= config_.rank_count || operation.bytes < 1) {
    return Status(StatusCode::kInvalidArgument,
                  "rank " + std::to_string(config_.rank) + " has no message of " +
                      std::to_string(operation.bytes) + " bytes for rank " +
                      std::to_string(operation.peer));
  }
  if (open_ == nullptr) {
    std::unique_lock lock(clique_.mutex);
    const auto is_free = [](const Group& group) { return group.free; };
    clique_.changed.wait(lock, [&] {
      const auto found = std::find_if(groups_.begin(), groups_.end(), is_free);
      open_ = found == groups_.end() ? nullptr : &*found;
      return open_ != nullptr;
    });
    open_->free = false;
    open_->operations.clear();
    open_->stream = stream;
  }
  if (open_->stream != stream) {
    return Status(StatusCode::kInvalidArgument, "a group on two streams");
  }
  open_->operations.push_back(operation);
  open_->operations.back().comm = this;
  return Status();
}

bool HostComm::EndGroup(bool await) {
  Group* const group = std::exchange(open_, nullptr);
  if (group == nullptr) return false;
  pending_polls_ = await ? 0 : kPendingPolls;
  Enqueue(group->stream, HostTask([this, group] { Run(group); }));
  if (!await) return true;
  std::unique_lock lock(clique_.mutex);
  clique_.changed.wait(lock, [&] { return group->free; });
  return true;
}

void HostComm::Stop() {
  {
    const std::lock_guard lock(clique_.mutex);
    stopped_ = true;
  }
  clique_.changed.notify_all();
}

void HostComm::Fail(const std::string& what) {
  if (error_.ok()) error_ = Status(StatusCode::kIoError, what);
}

void HostComm::Run(Group* group) {
  if (options_.delay.count() > 0) std::this_thread::sleep_for(options_.delay);
  std::unique_lock lock(clique_.mutex);
  const auto deadline = std::chrono::steady_clock::now() + options_.stuck_after;
  // What failed or was stopped runs nothing more.
  if (!stopped_ && error_.ok()) Offer(group);
  for (Operation& operation : group->operations) {
    if (operation.state != Operation::State::kOffered) continue;
    // Its other half may be there already, at the head of its queue when it is this one's turn.
    const int32_t from = operation.send ? config_.rank : operation.peer;
    const int32_t to = operation.send ? operation.peer : config_.rank;
    Operation* const send = clique_.Queue(true, from, to);
    Operation* const receive = clique_.Queue(false, from, to);
    if (send != nullptr && receive != nullptr) Match(send, receive, &lock);
  }
  const auto over = [&] {
    return stopped_ || !error_.ok() ||
           std::all_of(group->operations.begin(), group->operations.end(),
                       [](const Operation& o) { return o.state == Operation::State::kDone; });
  };
  if (!clique_.changed.wait_until(lock, deadline, over)) {
    Fail("stuck: rank " + std::to_string(config_.rank) + " waits for " + Waiting(*group));
  }
  Withdraw(group, &lock);
  group->free = true;
  lock.unlock();
  clique_.changed.notify_all();
}

void HostComm::Offer(Group* group) {
  size_t left = group->operations.size();
  while (left > 0) {
    // A random one that is left, or the first that is left of the same pair.
    size_t skip = NextRandom(&random_) % left--;
    const Operation* chosen = nullptr;
    for (const Operation& operation : group->operations) {
      if (operation.state == Operation::State::kNew && skip-- == 0) {
        chosen = &operation;
        break;
      }
    }
    const auto first =
        std::find_if(group->operations.begin(), group->operations.end(), [&](const Operation& o) {
          return o.state == Operation::State::kNew && o.send == chosen->send &&
                 o.peer == chosen->peer;
        });
    first->state = Operation::State::kOffered;
    first->next = nullptr;
    Operation** link = first->send ? &clique_.Queue(true, config_.rank, first->peer)
                                   : &clique_.Queue(false, first->peer, config_.rank);
    while (*link != nullptr) link = &(*link)->next;
    *link = &*first;
  }
}

void HostComm::Match(Operation* send, Operation* receive, std::unique_lock<std::mutex>* lock) {
  const int32_t from = send->comm->config_.rank;
  const int32_t to = receive->comm->config_.rank;
  clique_.Queue(true, from, to) = send->next;
  clique_.Queue(false, from, to) = receive->next;
  if (send->bytes != receive->bytes) {
    const std::string what = "rank " + std::to_string(from) + " sends " +
                             std::to_string(send->bytes) + " bytes to rank " + std::to_string(to) +
                             ", which expects " + std::to_string(receive->bytes);
    send->comm->Fail(what);
    receive->comm->Fail(what);
  } else {
    send->state = receive->state = Operation::State::kTaken;
    lock->unlock();
    std::memcpy(receive->to, send->from, static_cast<size_t>(send->bytes));
    lock->lock();
  }
  send->state = receive->state = Operation::State::kDone;
  clique_.changed.notify_all();
}

void HostComm::Withdraw(Group* group, std::unique_lock<std::mutex>* lock) {
  for (Operation& operation : group->operations) {
    if (operation.state != Operation::State::kOffered) continue;
    Operation** link = operation.send ? &clique_.Queue(true, config_.rank, operation.peer)
                                      : &clique_.Queue(false, operation.peer, config_.rank);
    while (*link != &operation) link = &(*link)->next;
    *link = operation.next;
    operation.state = Operation::State::kDone;
  }
  clique_.changed.wait(*lock, [&] {
    return std::none_of(group->operations.begin(), group->operations.end(),
                        [](const Operation& o) { return o.state == Operation::State::kTaken; });
  });
}

std::string HostComm::Waiting(const Group& group) const {
  std::string text;
  for (const Operation& operation : group.operations) {
    if (operation.state != Operation::State::kOffered) continue;
    text += (text.empty() ? "" : ", ") + std::string(operation.send ? "rank " : "rank ") +
            std::to_string(operation.peer) + (operation.send ? " to take " : " to send ") +
            std::to_string(operation.bytes) + " bytes";
  }
  return text;
}

HostNccl::HostNccl(const HostNcclOptions& options) : options_(options) {}
HostNccl::~HostNccl() = default;

StatusOr<UniqueId> HostNccl::NewUniqueId() {
  const std::lock_guard lock(mutex_);
  UniqueId id;
  ++ids_;
  std::memcpy(id.bytes.data(), &ids_, sizeof(ids_));
  return id;
}

Status HostNccl::Join(const std::string& clique, const CommConfig& config, CommHandle* comm) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<HostClique>& found = cliques_[clique];
  if (found == nullptr) found = std::make_shared<HostClique>(config.rank_count);
  const std::lock_guard clique_lock(found->mutex);
  if (static_cast<int32_t>(found->members.size()) != config.rank_count || config.rank < 0 ||
      config.rank >= config.rank_count ||
      found->members[static_cast<size_t>(config.rank)] != nullptr) {
    return Status(StatusCode::kInvalidArgument, "rank " + std::to_string(config.rank) + " of " +
                                                    std::to_string(config.rank_count) +
                                                    " does not fit the other ranks");
  }
  auto& member = found->members[static_cast<size_t>(config.rank)];
  member = std::make_unique<HostComm>(found.get(), config, options_);
  ++found->joined;
  *comm = reinterpret_cast<CommHandle>(member.get());
  return Status();
}

Status HostNccl::Init(const UniqueId& id, const CommConfig& config, CommHandle* comm) {
  return Join(std::string(id.bytes.begin(), id.bytes.end()), config, comm);
}

Status HostNccl::Shrink(CommHandle comm, std::span<const int32_t> excluded, CommHandle* shrunk) {
  HostComm* const old = CommOf(comm);
  CommConfig config = old->config();
  std::string clique = "shrunk " + std::to_string(reinterpret_cast<uintptr_t>(&old->clique())) +
                       " " + std::to_string(old->CountShrink());
  for (int32_t rank : excluded) {
    clique += " " + std::to_string(rank);
    --config.rank_count;
    if (rank < old->config().rank) --config.rank;
  }
  return Join(clique, config, shrunk);
}

StatusOr<CommDescription> HostNccl::Describe(CommHandle comm) {
  const CommConfig& config = CommOf(comm)->config();
  return CommDescription{config.rank, config.rank_count, /*device=*/0};
}

StatusOr<bool> HostNccl::IsPending(CommHandle comm) { return CommOf(comm)->IsPending(); }

// Its clique keeps the object: work of other ranks may still look at it.
void HostNccl::Destroy(CommHandle) {}

bool HostNccl::Stop(CommHandle comm) {
  CommOf(comm)->Stop();
  return options_.can_revoke;
}

Status HostNccl::GroupStart() {
  ++group_depth;
  return Status();
}

Status HostNccl::Send(const uint8_t* from, int64_t bytes, int32_t peer, CommHandle comm,
                      StreamHandle stream) {
  Operation operation;
  operation.send = true;
  operation.from = from;
  operation.bytes = bytes - (CommOf(comm)->config().rank == shortened_ ? 1 : 0);
  operation.peer = peer;
  group_comms.push_back(CommOf(comm));
  RESHARD_RETURN_IF_ERROR(CommOf(comm)->Add(operation, stream));
  return group_depth == 0 ? GroupEnd() : Status();
}

Status HostNccl::Receive(uint8_t* to, int64_t bytes, int32_t peer, CommHandle comm,
                         StreamHandle stream) {
  Operation operation;
  operation.to = to;
  operation.bytes = bytes;
  operation.peer = peer;
  group_comms.push_back(CommOf(comm));
  RESHARD_RETURN_IF_ERROR(CommOf(comm)->Add(operation, stream));
  return group_depth == 0 ? GroupEnd() : Status();
}

Status HostNccl::GroupEnd() {
  group_depth = std::max(0, group_depth - 1);
  if (group_depth > 0) return Status();
  for (HostComm* comm : group_comms) group_count_ += comm->EndGroup(options_.blocking);
  group_comms.clear();
  return Status();
}

Status HostNccl::AllGather(const uint8_t* from, uint8_t* to, int64_t bytes_each, CommHandle comm,
                           StreamHandle stream) {
  RESHARD_RETURN_IF_ERROR(GroupStart());
  Status status;
  for (int32_t peer = 0; status.ok() && peer < CommOf(comm)->config().rank_count; ++peer) {
    status = Send(from, bytes_each, peer, comm, stream);
    if (status.ok()) status = Receive(to + peer * bytes_each, bytes_each, peer, comm, stream);
  }
  RESHARD_RETURN_IF_ERROR(GroupEnd());
  return status;
}

}  // namespace reshard::nccl
