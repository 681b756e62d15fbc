#include "runtime/exec/loopback/loopback_world.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "runtime/exec/arena_range.h"
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
  Status failure;                // guarded by mutex, final once aborted
  Status failure_abroad;         // the same, as the other ranks return it
  std::vector<Rank*> ranks;      // rising by rank; fixed before the first call
  std::unique_ptr<Pacer> pacer;  // null: as fast as memory is

  Rank* Find(uint32_t rank) const;
};

class LoopbackWorld::Rank final : public RankTransport {
 public:
  Rank(const LoopbackRank& spec, size_t index, Arena arena, Shared* shared)
      : rank_(spec.rank),
        index_(index),
        arena_bytes_(spec.arena_bytes),
        arena_(std::move(arena)),
        shared_(shared) {
    sends_.reserve(kMaxOpsPerRound);
    receives_.reserve(kMaxOpsPerRound);
    arriving_.reserve(kMaxOpsPerRound);
  }

  uint32_t rank() const { return rank_; }
  uint8_t* arena() override { return arena_.get(); }
  int64_t arena_bytes() const override { return arena_bytes_; }

  Status Send(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status Receive(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status FinishStep(uint64_t step, Deadline deadline, ExecutionRecord* record) override;
  Status PublishLanded(uint64_t step) override {
    landed_times_.Set(step, clock_.time());
    return Publish(step, &landed_);
  }
  StatusOr<const uint8_t*> AwaitLanded(uint32_t lander, uint64_t step, Deadline deadline) override;
  void NoteRead(uint32_t lander, int64_t bytes) override;
  Status PublishReads(uint64_t step) override;
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
    PacedClock::Time ready{};
    Outgoing* next = nullptr;  // in the receiver's list; guarded by the receiver's mutex
    bool taken = false;        // guarded by the sender's mutex, as the next
    PacedClock::Time end{};
  };
  struct Incoming {
    Rank* sender = nullptr;
    uint64_t step = 0;
    int64_t arena_offset = 0;
    int64_t extent = 0;
    PacedClock::Time ready{};
  };
  // Bytes that are here, but not yet as far as their ports are concerned.
  struct Arriving {
    Outgoing* outgoing = nullptr;
    PacedClock::Time end{};
  };

  StatusOr<Rank*> Peer(uint32_t rank) const;
  Status AbortedStatus() const;
  Status Publish(uint64_t step, std::atomic<uint64_t>* counter);
  Status AwaitCounter(Rank* other, const std::atomic<uint64_t>& counter, uint64_t step,
                      Deadline deadline, std::string_view what);
  // Takes a message that is here and expected out of offers_ and receives_; null when there is
  // none. Error when a peer offers another message than expected. With the mutex held.
  StatusOr<Outgoing*> TakeOffer(Incoming* incoming);
  // Copies the message and, without a pacer, acknowledges it. Without the mutex.
  void Take(const Incoming& incoming, Outgoing* offer, ExecutionRecord* record);
  void Acknowledge(Outgoing* outgoing, PacedClock::Time end, ExecutionRecord* record);
  // Acknowledges what has arrived by now; the next arrival, or the far future. Without the mutex.
  PacedClock::Time Arrivals(ExecutionRecord* record);
  // A receiver that has not taken its message; null when all have. With the mutex held.
  const Rank* FirstUntaken() const;
  // "; rank 5 itself waits for rank 3": whom `first` waits for at this moment, to the end.
  std::string BlameText(const Rank* first) const;

  const uint32_t rank_;
  const size_t index_;
  const int64_t arena_bytes_;
  const Arena arena_;
  Shared* const shared_;

  std::mutex mutex_;
  std::condition_variable owner_cv_;     // this rank waits for offers and acknowledgements
  std::condition_variable progress_cv_;  // others wait for landed_ and reads_
  Outgoing* offers_ = nullptr;           // to this rank; guarded by mutex_
  std::vector<Outgoing> sends_;          // never grows beyond its first capacity
  std::vector<Incoming> receives_;       // used by the owner only, as the next four
  std::vector<Arriving> arriving_;
  PacedClock clock_;
  PacedClock::Time reads_end_{};
  std::atomic<uint64_t> landed_{0};  // written with the mutex held
  std::atomic<uint64_t> reads_{0};
  StepTimes landed_times_;
  std::atomic<int64_t> waits_for_{kNobody};  // for messages to people only
};

LoopbackWorld::Rank* LoopbackWorld::Shared::Find(uint32_t rank) const {
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank,
                                      [](const Rank* a, uint32_t b) { return a->rank() < b; });
  return found != ranks.end() && (*found)->rank() == rank ? *found : nullptr;
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
  RESHARD_RETURN_IF_ERROR(CheckArenaRange(arena_offset, extent, arena_bytes_));
  const StatusOr<Rank*> found = Peer(peer);
  if (!found.ok()) return found.status();
  if (sends_.size() == kMaxOpsPerRound) return TooManyMessages();
  Rank* const receiver = *found;
  // Others hold pointers to entries, which stay in place: the capacity is reserved.
  sends_.push_back({this, receiver, step, arena_.get() + arena_offset, extent, clock_.Ready()});
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
  RESHARD_RETURN_IF_ERROR(CheckArenaRange(arena_offset, extent, arena_bytes_));
  const StatusOr<Rank*> found = Peer(peer);
  if (!found.ok()) return found.status();
  if (receives_.size() == kMaxOpsPerRound) return TooManyMessages();
  receives_.push_back({*found, step, arena_offset, extent, clock_.Ready()});
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

void LoopbackWorld::Rank::Take(const Incoming& incoming, Outgoing* offer, ExecutionRecord* record) {
  std::memcpy(arena_.get() + incoming.arena_offset, offer->data,
              static_cast<size_t>(incoming.extent));
  if (!shared_->pacer) return Acknowledge(offer, {}, record);
  arriving_.push_back(
      {offer, shared_->pacer->Message(offer->sender->index_, index_, incoming.extent,
                                      std::max(offer->ready, incoming.ready))});
}

void LoopbackWorld::Rank::Acknowledge(Outgoing* outgoing, PacedClock::Time end,
                                      ExecutionRecord* record) {
  Rank* const sender = outgoing->sender;
  if (record != nullptr) record->AddMessage(sender->rank_, outgoing->extent);
  {
    const std::lock_guard lock(sender->mutex_);
    outgoing->end = end;
    outgoing->taken = true;  // from here on it is the sender's again
  }
  sender->owner_cv_.notify_one();
}

PacedClock::Time LoopbackWorld::Rank::Arrivals(ExecutionRecord* record) {
  const PacedClock::Time now = std::chrono::steady_clock::now();
  PacedClock::Time next = PacedClock::Time::max();
  for (size_t i = arriving_.size(); i-- > 0;) {
    const Arriving arriving = arriving_[i];
    if (arriving.end > now) {
      next = std::min(next, arriving.end);
      continue;
    }
    arriving_[i] = arriving_.back();
    arriving_.pop_back();
    clock_.Reach(arriving.end);
    Acknowledge(arriving.outgoing, arriving.end, record);
  }
  return next;
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
      Take(incoming, *offer, record);
      lock.lock();
      continue;
    }
    if (!arriving_.empty()) {
      // Other ranks are not late as long as bytes are under way.
      lock.unlock();
      const PacedClock::Time next = Arrivals(record);
      lock.lock();
      if (!arriving_.empty() && offers_ == nullptr) owner_cv_.wait_until(lock, next);
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
  for (const Outgoing& send : sends_) clock_.Reach(send.end);
  sends_.clear();
  return Status();
}

void LoopbackWorld::Rank::NoteRead(uint32_t lander, int64_t bytes) {
  if (!shared_->pacer) return;
  const Rank* const from = shared_->Find(lander);
  reads_end_ =
      std::max(reads_end_, shared_->pacer->Copy(from->index_, index_, bytes, clock_.Ready()));
}

Status LoopbackWorld::Rank::PublishReads(uint64_t step) {
  if (shared_->pacer) {
    std::unique_lock lock(mutex_);
    owner_cv_.wait_until(lock, reads_end_, [this] {
      return std::chrono::steady_clock::now() >= reads_end_ ||
             shared_->aborted.load(std::memory_order_acquire);
    });
  }
  clock_.Reach(reads_end_);
  return Publish(step, &reads_);
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
  clock_.Reach((*found)->landed_times_.Get(step));
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

StatusOr<std::unique_ptr<LoopbackWorld>> LoopbackWorld::Create(std::span<const LoopbackRank> ranks,
                                                               std::unique_ptr<Pacer> pacer) {
  std::unique_ptr<LoopbackWorld> world(new LoopbackWorld());
  world->shared_->pacer = std::move(pacer);
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
    world->ranks_.push_back(
        std::make_unique<Rank>(spec, world->ranks_.size(), std::move(arena), world->shared_.get()));
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
