#include "runtime/exec/loopback/loopback_world.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "runtime/exec/stats.h"
#include "runtime/plan/plan.h"

namespace reshard {
namespace {

constexpr int64_t kNobody = -1;

struct FreeDelete {
  void operator()(uint8_t* block) const { std::free(block); }
};
using Arena = std::unique_ptr<uint8_t, FreeDelete>;

std::string RankText(int64_t rank) { return "rank " + std::to_string(rank); }

Status TooManyMessages() {
  return Status(StatusCode::kLimitExceeded,
                "more than " + std::to_string(kMaxOpsPerRound) + " messages of one rank and round");
}

}  // namespace

struct LoopbackWorld::Shared {
  std::atomic<bool> aborted{false};
  std::mutex mutex;
  Status failure;            // guarded by mutex, final once aborted
  Status failure_abroad;     // the same, as the other ranks return it
  std::vector<Rank*> ranks;  // rising by rank; fixed before the first call

  Rank* Find(uint32_t rank) const;
};

class LoopbackWorld::Rank final : public RankTransport {
 public:
  Rank(const LoopbackRank& spec, Arena arena, Shared* shared)
      : rank_(spec.rank),
        arena_bytes_(spec.arena_bytes),
        arena_(std::move(arena)),
        shared_(shared) {
    sends_.reserve(kMaxOpsPerRound);
    receives_.reserve(kMaxOpsPerRound);
  }

  uint32_t rank() const { return rank_; }
  uint8_t* arena() override { return arena_.get(); }
  int64_t arena_bytes() const override { return arena_bytes_; }

  Status Send(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status Receive(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status FinishStep(uint64_t step, Deadline deadline, ExecutionRecord* record) override;
  Status PublishLanded(uint64_t step) override { return Publish(step, &landed_); }
  StatusOr<const uint8_t*> AwaitLanded(uint32_t lander, uint64_t step, Deadline deadline) override;
  Status PublishReads(uint64_t step) override { return Publish(step, &reads_); }
  Status AwaitReads(uint32_t reader, uint64_t step, Deadline deadline) override;
  void Abort(const Status& reason) override;

  void WakeAll();

 private:
  // A message that its sender offers. It stays where it is, and the bytes in the sender's arena,
  // until FinishStep finds it taken.
  struct Outgoing {
    Rank* sender = nullptr;
    Rank* receiver = nullptr;
    uint64_t step = 0;
    const uint8_t* data = nullptr;
    int64_t extent = 0;
    Outgoing* next = nullptr;  // in the receiver's list; guarded by the receiver's mutex
    bool taken = false;        // guarded by the sender's mutex
  };
  struct Incoming {
    Rank* sender = nullptr;
    uint64_t step = 0;
    int64_t arena_offset = 0;
    int64_t extent = 0;
  };

  Status CheckArena(int64_t offset, int64_t extent) const;
  StatusOr<Rank*> Peer(uint32_t rank) const;
  Status AbortedStatus() const;
  Status Publish(uint64_t step, std::atomic<uint64_t>* counter);
  Status AwaitCounter(Rank* other, const std::atomic<uint64_t>& counter, uint64_t step,
                      Deadline deadline, std::string_view what);
  // Takes a message that is here and expected out of offers_ and receives_; null when there is
  // none. Error when a peer offers another message than expected. With the mutex held.
  StatusOr<Outgoing*> TakeOffer(Incoming* incoming);
  static void Acknowledge(Outgoing* outgoing);
  // A receiver that has not taken its message; null when all have. With the mutex held.
  const Rank* FirstUntaken() const;
  // "; rank 5 itself waits for rank 3": whom `first` waits for at this moment, to the end.
  std::string BlameText(const Rank* first) const;

  const uint32_t rank_;
  const int64_t arena_bytes_;
  const Arena arena_;
  Shared* const shared_;

  std::mutex mutex_;
  std::condition_variable owner_cv_;     // this rank waits for offers and acknowledgements
  std::condition_variable progress_cv_;  // others wait for landed_ and reads_
  Outgoing* offers_ = nullptr;           // to this rank; guarded by mutex_
  std::vector<Outgoing> sends_;          // never grows beyond its first capacity
  std::vector<Incoming> receives_;       // used by the owner only
  std::atomic<uint64_t> landed_{0};      // written with the mutex held
  std::atomic<uint64_t> reads_{0};
  std::atomic<int64_t> waits_for_{kNobody};  // for messages to people only
};

LoopbackWorld::Rank* LoopbackWorld::Shared::Find(uint32_t rank) const {
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank,
                                      [](const Rank* a, uint32_t b) { return a->rank() < b; });
  return found != ranks.end() && (*found)->rank() == rank ? *found : nullptr;
}

Status LoopbackWorld::Rank::CheckArena(int64_t offset, int64_t extent) const {
  if (offset >= 0 && extent >= 0 && offset <= arena_bytes_ && extent <= arena_bytes_ - offset) {
    return Status();
  }
  return Status(StatusCode::kInvalidArgument, "bytes " + std::to_string(offset) + " + " +
                                                  std::to_string(extent) + " leave the arena of " +
                                                  std::to_string(arena_bytes_) + " bytes");
}

StatusOr<LoopbackWorld::Rank*> LoopbackWorld::Rank::Peer(uint32_t rank) const {
  Rank* const peer = shared_->Find(rank);
  if (peer != nullptr && peer != this) return peer;
  return Status(StatusCode::kInvalidArgument, RankText(rank) + " is no peer of " + RankText(rank_));
}

Status LoopbackWorld::Rank::AbortedStatus() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure_abroad;
}

Status LoopbackWorld::Rank::Send(uint32_t peer, uint64_t step, int64_t arena_offset,
                                 int64_t extent) {
  RESHARD_RETURN_IF_ERROR(CheckArena(arena_offset, extent));
  const StatusOr<Rank*> found = Peer(peer);
  if (!found.ok()) return found.status();
  if (sends_.size() == kMaxOpsPerRound) return TooManyMessages();
  Rank* const receiver = *found;
  // Others hold pointers to entries, which stay in place: the capacity is reserved.
  sends_.push_back({this, receiver, step, arena_.get() + arena_offset, extent});
  {
    const std::lock_guard lock(receiver->mutex_);
    sends_.back().next = receiver->offers_;
    receiver->offers_ = &sends_.back();
  }
  receiver->owner_cv_.notify_one();
  return Status();
}

Status LoopbackWorld::Rank::Receive(uint32_t peer, uint64_t step, int64_t arena_offset,
                                    int64_t extent) {
  RESHARD_RETURN_IF_ERROR(CheckArena(arena_offset, extent));
  const StatusOr<Rank*> found = Peer(peer);
  if (!found.ok()) return found.status();
  if (receives_.size() == kMaxOpsPerRound) return TooManyMessages();
  receives_.push_back({*found, step, arena_offset, extent});
  return Status();
}

StatusOr<LoopbackWorld::Rank::Outgoing*> LoopbackWorld::Rank::TakeOffer(Incoming* incoming) {
  for (Outgoing** link = &offers_; *link != nullptr; link = &(*link)->next) {
    Outgoing* const offer = *link;
    for (Incoming& expected : receives_) {
      if (offer->sender != expected.sender) continue;
      // A sender offers its messages one step after the other, so another one means that the two
      // ranks run different programs.
      if (offer->step != expected.step || offer->extent != expected.extent) {
        return Status(StatusCode::kCorruptData,
                      RankText(offer->sender->rank_) + " sends " + std::to_string(offer->extent) +
                          " bytes in step " + std::to_string(offer->step) + ", expected " +
                          std::to_string(expected.extent) + " bytes in step " +
                          std::to_string(expected.step));
      }
      *incoming = expected;
      expected = receives_.back();
      receives_.pop_back();
      *link = offer->next;
      return offer;
    }
  }
  return nullptr;
}

void LoopbackWorld::Rank::Acknowledge(Outgoing* outgoing) {
  Rank* const sender = outgoing->sender;
  {
    const std::lock_guard lock(sender->mutex_);
    outgoing->taken = true;
  }
  sender->owner_cv_.notify_one();
}

const LoopbackWorld::Rank* LoopbackWorld::Rank::FirstUntaken() const {
  for (const Outgoing& send : sends_) {
    if (!send.taken) return send.receiver;
  }
  return nullptr;
}

Status LoopbackWorld::Rank::FinishStep(uint64_t step, Deadline deadline, ExecutionRecord* record) {
  std::unique_lock lock(mutex_);
  bool timed_out = false;
  for (;;) {
    if (shared_->aborted.load(std::memory_order_acquire)) {
      lock.unlock();
      return AbortedStatus();
    }
    Incoming incoming;
    const StatusOr<Outgoing*> offer = TakeOffer(&incoming);
    if (!offer.ok()) return offer.status();
    if (*offer != nullptr) {
      lock.unlock();
      std::memcpy(arena_.get() + incoming.arena_offset, (*offer)->data,
                  static_cast<size_t>(incoming.extent));
      // Once acknowledged, the offer is the sender's again.
      const uint32_t sender = (*offer)->sender->rank_;
      Acknowledge(*offer);
      if (record != nullptr) record->AddMessage(sender, incoming.extent);
      lock.lock();
      continue;
    }
    const bool receiving = !receives_.empty();
    const Rank* const awaited = receiving ? receives_.front().sender : FirstUntaken();
    if (awaited == nullptr) break;
    if (timed_out) {
      lock.unlock();
      return Status(StatusCode::kTimeout,
                    RankText(awaited->rank_) +
                        (receiving ? " did not send its message" : " did not take its message") +
                        " of step " + std::to_string(step) + BlameText(awaited));
    }
    waits_for_.store(awaited->rank_, std::memory_order_relaxed);
    const auto begin = ExecutionRecord::Clock::now();
    timed_out = owner_cv_.wait_until(lock, deadline) == std::cv_status::timeout;
    if (record != nullptr) record->AddWait(awaited->rank_, ExecutionRecord::Clock::now() - begin);
  }
  waits_for_.store(kNobody, std::memory_order_relaxed);
  sends_.clear();
  return Status();
}

Status LoopbackWorld::Rank::Publish(uint64_t step, std::atomic<uint64_t>* counter) {
  if (shared_->aborted.load(std::memory_order_acquire)) return AbortedStatus();
  {
    const std::lock_guard lock(mutex_);
    counter->store(step, std::memory_order_release);
  }
  progress_cv_.notify_all();
  return Status();
}

Status LoopbackWorld::Rank::AwaitCounter(Rank* other, const std::atomic<uint64_t>& counter,
                                         uint64_t step, Deadline deadline, std::string_view what) {
  if (counter.load(std::memory_order_acquire) >= step) return Status();
  waits_for_.store(other->rank_, std::memory_order_relaxed);
  std::unique_lock lock(other->mutex_);
  const bool reached = other->progress_cv_.wait_until(lock, deadline, [&] {
    return counter.load(std::memory_order_acquire) >= step ||
           shared_->aborted.load(std::memory_order_acquire);
  });
  lock.unlock();
  if (reached && counter.load(std::memory_order_acquire) >= step) {
    waits_for_.store(kNobody, std::memory_order_relaxed);
    return Status();
  }
  if (shared_->aborted.load(std::memory_order_acquire)) return AbortedStatus();
  return Status(StatusCode::kTimeout, RankText(other->rank_) + std::string(what) +
                                          std::to_string(step) + BlameText(other));
}

StatusOr<const uint8_t*> LoopbackWorld::Rank::AwaitLanded(uint32_t lander, uint64_t step,
                                                          Deadline deadline) {
  const StatusOr<Rank*> found = Peer(lander);
  if (!found.ok()) return found.status();
  RESHARD_RETURN_IF_ERROR(
      AwaitCounter(*found, (*found)->landed_, step, deadline, " did not land step "));
  return static_cast<const uint8_t*>((*found)->arena_.get());
}

Status LoopbackWorld::Rank::AwaitReads(uint32_t reader, uint64_t step, Deadline deadline) {
  const StatusOr<Rank*> found = Peer(reader);
  if (!found.ok()) return found.status();
  return AwaitCounter(*found, (*found)->reads_, step, deadline, " did not finish reading step ");
}

void LoopbackWorld::Rank::Abort(const Status& reason) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->aborted.load(std::memory_order_acquire)) return;
    shared_->failure = Status(reason.code(), RankText(rank_) + ": " + reason.message());
    shared_->failure_abroad =
        Status(StatusCode::kAborted, RankText(rank_) + " failed: " + reason.message());
    shared_->aborted.store(true, std::memory_order_release);
  }
  for (Rank* rank : shared_->ranks) rank->WakeAll();
}

void LoopbackWorld::Rank::WakeAll() {
  // Taken and left, so that no waiter is between its test of `aborted` and its sleep.
  { const std::lock_guard lock(mutex_); }
  owner_cv_.notify_all();
  progress_cv_.notify_all();
}

std::string LoopbackWorld::Rank::BlameText(const Rank* first) const {
  const Rank* last = first;
  for (size_t hops = 0; hops < shared_->ranks.size(); ++hops) {
    const int64_t next = last->waits_for_.load(std::memory_order_relaxed);
    if (next == kNobody) break;
    last = shared_->Find(static_cast<uint32_t>(next));
  }
  if (last == first) return "";
  if (last == this) return "; ranks wait for each other in a circle";
  return "; it waits, in the end, for " + RankText(last->rank_);
}

LoopbackWorld::LoopbackWorld() : shared_(std::make_unique<Shared>()) {}
LoopbackWorld::~LoopbackWorld() = default;

StatusOr<std::unique_ptr<LoopbackWorld>> LoopbackWorld::Create(
    std::span<const LoopbackRank> ranks) {
  std::unique_ptr<LoopbackWorld> world(new LoopbackWorld());
  for (const LoopbackRank& spec : ranks) {
    if (!world->ranks_.empty() && world->ranks_.back()->rank() >= spec.rank) {
      return Status(StatusCode::kInvalidArgument, "ranks do not rise at " + RankText(spec.rank));
    }
    if (spec.arena_bytes < 0 || spec.arena_bytes > INT64_MAX - kSlotAlignBytes) {
      return Status(StatusCode::kInvalidArgument, RankText(spec.rank) + " has an arena of " +
                                                      std::to_string(spec.arena_bytes) + " bytes");
    }
    Arena arena;
    if (spec.arena_bytes > 0) {
      // aligned_alloc wants a multiple of the alignment.
      const int64_t blocks = (spec.arena_bytes + kSlotAlignBytes - 1) / kSlotAlignBytes;
      arena.reset(static_cast<uint8_t*>(std::aligned_alloc(
          static_cast<size_t>(kSlotAlignBytes), static_cast<size_t>(blocks * kSlotAlignBytes))));
      if (!arena) {
        return Status(StatusCode::kLimitExceeded, "no memory for the staging arena of " +
                                                      RankText(spec.rank) + ", " +
                                                      std::to_string(spec.arena_bytes) + " bytes");
      }
    }
    world->ranks_.push_back(std::make_unique<Rank>(spec, std::move(arena), world->shared_.get()));
    world->shared_->ranks.push_back(world->ranks_.back().get());
  }
  return world;
}

RankTransport* LoopbackWorld::transport(size_t index) { return ranks_[index].get(); }

Status LoopbackWorld::failure() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

int64_t LoopbackWorld::max_arena_bytes() const {
  int64_t most = 0;
  for (const std::unique_ptr<Rank>& rank : ranks_) most = std::max(most, rank->arena_bytes());
  return most;
}

}  // namespace reshard
