#include "runtime/exec/messages/message_transport.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/exec/arena_range.h"
#include "runtime/exec/messages/chunked_messages.h"
#include "runtime/exec/messages/culprit_search.h"
#include "runtime/exec/messages/exchange.h"
#include "runtime/exec/messages/failed_wait.h"
#include "runtime/exec/messages/idle_wait.h"
#include "runtime/exec/messages/member_ranks.h"
#include "runtime/exec/messages/notices.h"
#include "runtime/exec/messages/tell_failure.h"
#include "runtime/exec/prepared_program.h"
#include "runtime/exec/stats.h"

namespace reshard {
namespace {

constexpr int kHelloTag = 3;
constexpr int kDataTag = 4;
constexpr int kNoticeTag = 5;
// Of the port, from which a transport takes kTagsOfTransport tags: bytes of one that has failed
// never pass for bytes of the next. MPI has at least 32767 tags.
constexpr int kFirstTag = 16;
constexpr int kTagsOfTransport = 8;
constexpr int kTagSets = 2048;

using Clock = std::chrono::steady_clock;

class MessageTransport final : public RankTransport {
 public:
  MessageTransport(const MessageTransportSpec& spec, std::unique_ptr<SharedSegment> segment);
  ~MessageTransport() override;
  Status Connect(const MessageTransportSpec& spec, Deadline deadline);

  uint8_t* arena() override { return segment_->arena(); }
  int64_t arena_bytes() const override { return segment_->address().arena_bytes; }
  Status Send(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status Receive(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status ExpectReceive(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) override;
  Status Progress() override { return Poll(nullptr); }
  Status FinishStep(uint64_t step, Deadline deadline, ExecutionRecord* record) override;
  Status PublishLanded(uint64_t step) override;
  StatusOr<const uint8_t*> AwaitLanded(uint32_t lander, uint64_t step, Deadline deadline) override;
  Status PublishReads(uint64_t step) override;
  Status AwaitReads(uint32_t reader, uint64_t step, Deadline deadline) override;
  Status FinishExecution(Deadline deadline) override;
  void Abort(const Status& reason) override;
  void TellAbort() override;

 private:
  struct Credit {
    int member = 0;
    uint64_t step = 0;
    int64_t bytes = 0;
  };
  struct Expected {
    int member = 0;
    uint64_t step = 0;
    int64_t arena_offset = 0;
    int64_t extent = 0;
    bool operator==(const Expected&) const = default;
  };

  StatusOr<size_t> NeighbourOf(uint32_t rank) const;
  static size_t MostChunks(const PreparedProgram& program);
  Status ExchangeHello(const std::vector<int>& members, Deadline deadline);

  Status Poll(bool* moved);
  Status HandleNotice(int sender, const Notice& notice);
  Status UseCredit(const Credit& credit, OutgoingMessage* message);
  // Waits until done() or the deadline; whom() says for whom.
  template <class Done, class Whom>
  Status Await(uint64_t step, Deadline deadline, ExecutionRecord* record, Done done, Whom whom);
  Status SearchCulprit(const Awaited& awaited);
  // Tells all that this rank is connected to; `failed` is the member that failed first.
  void SpreadAbort(int failed, const Status& reason, int except) {
    TellFailure(failed, reason, connected_, except, &port_, notices_.get());
  }
  void TakeForeignAbort();

  PortTags port_;
  const MemberRanks ranks_;
  std::unique_ptr<SharedSegment> segment_;
  std::unique_ptr<DomainLinks> links_;
  std::unique_ptr<ChunkedSends> sends_;
  std::unique_ptr<ChunkedReceives> receives_;
  std::unique_ptr<Notices> notices_;
  std::vector<int> connected_;      // peers and neighbours, rising
  std::vector<Credit> credits_;     // for messages that are not yet to be sent
  std::vector<Expected> expected_;  // receives posted before their time

  uint64_t last_step_ = 0;  // that was landed
  int waits_for_ = -1;      // member
  CulpritSearch search_;
  Status failure_;  // what every call returns from then on
  std::atomic<std::thread::id> caller_{};
  std::mutex foreign_mutex_;
  Status foreign_abort_;  // by another thread; guarded by foreign_mutex_
  std::atomic<bool> has_foreign_abort_{false};
};

MessageTransport::MessageTransport(const MessageTransportSpec& spec,
                                   std::unique_ptr<SharedSegment> segment)
    : port_(spec.port, kFirstTag + kTagsOfTransport * static_cast<int>(spec.number % kTagSets)),
      ranks_(spec.engine->ranks_of_members, spec.port->member()),
      segment_(std::move(segment)),
      search_(spec.port->member()) {}

MessageTransport::~MessageTransport() {
  bool busy = false;
  if (sends_) busy = sends_->Abandon();
  if (receives_) busy = receives_->Abandon() || busy;
  if (notices_ && notices_->Abandon()) (void)notices_.release();
  // The port may still read from or write into them.
  if (busy) {
    (void)segment_.release();
    (void)links_.release();
    (void)receives_.release();
  }
}

StatusOr<size_t> MessageTransport::NeighbourOf(uint32_t rank) const {
  for (size_t n = 0; n < links_->size(); ++n) {
    if (links_->neighbour(n).rank == rank) return n;
  }
  return Status(StatusCode::kInvalidArgument, RankText(rank) + " is not of this domain");
}

Status MessageTransport::Connect(const MessageTransportSpec& spec, Deadline deadline) {
  const PreparedProgram& program = *spec.engine->program;
  std::vector<DomainLinks::Neighbour> neighbours;
  for (uint32_t rank : program.neighbours) {
    const StatusOr<int> member = ranks_.PeerOf(rank);
    if (!member.ok()) return member.status();
    neighbours.push_back({rank, *member});
    connected_.push_back(*member);
  }
  for (uint32_t rank : program.Peers()) {
    const StatusOr<int> member = ranks_.PeerOf(rank);
    if (!member.ok()) return member.status();
    connected_.push_back(*member);
  }
  std::sort(connected_.begin(), connected_.end());
  connected_.erase(std::unique(connected_.begin(), connected_.end()), connected_.end());

  ExchangeFailure failure;
  StatusOr<std::unique_ptr<DomainLinks>> links = DomainLinks::Connect(
      *spec.engine, &port_, neighbours, spec.links, segment_.get(), deadline, &failure);
  if (!links.ok()) {
    if (failure.late.empty()) return links.status();
    return Status(links.status().code(),
                  ranks_.Text(failure.late) + " of this domain did not connect");
  }
  links_ = *std::move(links);
  uint32_t sends = 0;
  uint32_t receives = 0;
  for (const PreparedRound& round : program.rounds) {
    sends = std::max(sends, round.send_end - round.first_send);
    receives = std::max(receives, round.receive_end - round.first_receive);
  }
  sends_ = std::make_unique<ChunkedSends>(&port_, sends + links_->max_sends());
  receives_ = std::make_unique<ChunkedReceives>(&port_, 2 * receives + links_->max_receives());
  const size_t notices = 4 * connected_.size() + 8;
  notices_ = std::make_unique<Notices>(&port_, kNoticeTag, spec.number, notices);
  port_.Reserve(ChunkedSends::kWindow + 2 * MostChunks(program) + links_->max_chunks() + notices +
                Notices::kReceives);
  credits_.reserve(2 * connected_.size());
  expected_.reserve(receives);
  links_->Use(sends_.get(), receives_.get(), notices_.get());
  RESHARD_RETURN_IF_ERROR(notices_->Start());
  return ExchangeHello(connected_, deadline);
}

// Of the messages that come in one round.
size_t MessageTransport::MostChunks(const PreparedProgram& program) {
  int64_t most = 0;
  for (const PreparedRound& round : program.rounds) {
    int64_t chunks = 0;
    for (uint32_t m = round.first_receive; m < round.receive_end; ++m) {
      chunks += ChunkCount(program.receives[m].extent);
    }
    most = std::max(most, chunks);
  }
  return static_cast<size_t>(most);
}

// A first message each way: connections are made now, and not in the first round.
Status MessageTransport::ExchangeHello(const std::vector<int>& members, Deadline deadline) {
  auto hello = std::make_unique<std::vector<uint8_t>>(2 * members.size(), uint8_t{1});
  std::vector<ExchangePart> parts;
  for (size_t m = 0; m < members.size(); ++m) {
    parts.push_back(
        {members[m], std::span(*hello).subspan(2 * m, 1), std::span(*hello).subspan(2 * m + 1, 1)});
  }
  ExchangeFailure failure;
  Status status = Exchange(&port_, kHelloTag, parts, deadline, &failure);
  if (status.ok()) return status;
  if (failure.buffers_in_use) (void)hello.release();
  return failure.late.empty()
             ? status
             : Status(status.code(), ranks_.Text(failure.late) + " did not connect");
}

Status MessageTransport::UseCredit(const Credit& credit, OutgoingMessage* message) {
  if (credit.bytes != message->bytes) {
    return Status(StatusCode::kCorruptData, ranks_.Text(credit.member) + " expects " +
                                                std::to_string(credit.bytes) + " bytes in step " +
                                                std::to_string(credit.step) + ", this rank sends " +
                                                std::to_string(message->bytes));
  }
  message->allowed = true;
  return Status();
}

Status MessageTransport::Send(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) {
  RESHARD_RETURN_IF_ERROR(CheckArenaRange(arena_offset, extent, arena_bytes()));
  const StatusOr<int> member = ranks_.PeerOf(peer);
  if (!member.ok()) return member.status();
  if (extent == 0) return Status();
  OutgoingMessage message;
  message.member = *member;
  message.tag = kDataTag;
  message.step = step;
  message.data = segment_->arena() + arena_offset;
  message.bytes = extent;
  // Every rank begins with another receiver: the next one after itself.
  const auto members = static_cast<int>(ranks_.size());
  message.order = static_cast<uint64_t>((*member - ranks_.own_member() + members) % members);
  const auto credit = std::find_if(credits_.begin(), credits_.end(), [&](const Credit& c) {
    return c.member == *member && c.step == step;
  });
  if (credit != credits_.end()) {
    RESHARD_RETURN_IF_ERROR(UseCredit(*credit, &message));
    credits_.erase(credit);
  }
  sends_->Add(message);
  return Poll(nullptr);
}

Status MessageTransport::ExpectReceive(uint32_t peer, uint64_t step, int64_t arena_offset,
                                       int64_t extent) {
  RESHARD_RETURN_IF_ERROR(CheckArenaRange(arena_offset, extent, arena_bytes()));
  const StatusOr<int> member = ranks_.PeerOf(peer);
  if (!member.ok()) return member.status();
  if (extent == 0) return Status();
  RESHARD_RETURN_IF_ERROR(
      receives_->Add({*member, kDataTag, step, segment_->arena() + arena_offset, extent}));
  expected_.push_back({*member, step, arena_offset, extent});
  Notice credit;
  credit.kind = NoticeKind::kCredit;
  credit.value = step;
  credit.bytes = extent;
  return notices_->Send(*member, credit);
}

Status MessageTransport::Receive(uint32_t peer, uint64_t step, int64_t arena_offset,
                                 int64_t extent) {
  const StatusOr<int> member = ranks_.PeerOf(peer);
  if (!member.ok()) return member.status();
  const auto expected = std::find_if(expected_.begin(), expected_.end(), [&](const Expected& e) {
    return e.member == *member && e.step == step;
  });
  if (expected == expected_.end()) {
    RESHARD_RETURN_IF_ERROR(ExpectReceive(peer, step, arena_offset, extent));
    if (extent > 0) expected_.pop_back();
    return Status();
  }
  const bool same = *expected == Expected{*member, step, arena_offset, extent};
  expected_.erase(expected);
  if (same) return Status();
  return Status(StatusCode::kInvalidArgument,
                "a message from " + RankText(peer) + " was expected elsewhere");
}

Status MessageTransport::Poll(bool* moved) {
  caller_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  if (!failure_.ok()) return failure_;
  if (has_foreign_abort_.load(std::memory_order_acquire)) {
    TakeForeignAbort();
    return failure_;
  }
  RESHARD_RETURN_IF_ERROR(port_.Progress());
  int sender = 0;
  for (;;) {
    const StatusOr<const Notice*> notice = notices_->Next(&sender);
    if (!notice.ok()) return notice.status();
    if (*notice == nullptr) break;
    if (moved != nullptr) *moved = true;
    RESHARD_RETURN_IF_ERROR(HandleNotice(sender, **notice));
  }
  const StatusOr<bool> received = receives_->Poll();
  if (!received.ok()) return received.status();
  const StatusOr<bool> sent = sends_->Poll();
  if (!sent.ok()) return sent.status();
  if (moved != nullptr) *moved = *moved || *received || *sent;
  return Status();
}

Status MessageTransport::HandleNotice(int sender, const Notice& notice) {
  switch (notice.kind) {
    case NoticeKind::kCredit: {
      const Credit credit{sender, notice.value, notice.bytes};
      OutgoingMessage* const message = sends_->Find(sender, kDataTag, notice.value);
      if (message != nullptr) return UseCredit(credit, message);
      credits_.push_back(credit);
      return Status();
    }
    case NoticeKind::kReads:
      links_->OnReads(sender, notice.value);
      return Status();
    case NoticeKind::kAbort: {
      const auto failed = static_cast<int>(std::min<size_t>(notice.value, ranks_.size() - 1));
      const std::string text(notice.text.data(),
                             std::min<size_t>(notice.text_bytes, Notice::kTextBytes));
      failure_ = Status(StatusCode::kAborted, ranks_.Text(failed) + " failed: " + text);
      SpreadAbort(failed, Status(StatusCode::kAborted, text), sender);
      return failure_;
    }
    case NoticeKind::kAsk: {
      Notice answer;
      answer.kind = NoticeKind::kAnswer;
      answer.value = waits_for_ < 0 ? Notice::kNobody : static_cast<uint64_t>(waits_for_);
      return notices_->Send(sender, answer);
    }
    case NoticeKind::kAnswer:
      if (notice.value == Notice::kNobody) {
        search_.Answer(sender, std::nullopt);
      } else if (notice.value < ranks_.size()) {
        search_.Answer(sender, static_cast<int>(notice.value));
      }
      return Status();
  }
  return Status(StatusCode::kCorruptData, "a notice of an unknown kind");
}

template <class Done, class Whom>
Status MessageTransport::Await(uint64_t step, Deadline deadline, ExecutionRecord* record, Done done,
                               Whom whom) {
  RESHARD_RETURN_IF_ERROR(Poll(nullptr));
  if (done()) return Status();
  Clock::time_point last = Clock::now();
  const Clock::time_point search_time = last + (deadline - last) / 2;
  search_.Reset();
  IdleWait idle;
  for (;;) {
    Awaited awaited = whom();
    waits_for_ = awaited.member;
    bool moved = false;
    const Status polled = Poll(&moved);
    const bool over = polled.ok() && done();
    const Clock::time_point now = Clock::now();
    if (record != nullptr) {
      record->AddWait(ranks_.rank(awaited.member), now - last);
    }
    last = now;
    if (!polled.ok() || over) {
      waits_for_ = -1;
      return polled;
    }
    awaited = whom();
    if (awaited.takes ? port_.LostForSends(awaited.member)
                      : port_.LostForReceives(awaited.member)) {
      return LostStatus(ranks_, awaited, step);
    }
    if (now >= deadline) return TimeoutStatus(ranks_, awaited, step, search_);
    if (now >= search_time) RESHARD_RETURN_IF_ERROR(SearchCulprit(awaited));
    if (moved) {
      idle.Reset();
    } else {
      idle.Pause();
    }
  }
}

Status MessageTransport::SearchCulprit(const Awaited& awaited) {
  if (!search_.started()) search_.Start(awaited.member);
  const std::optional<int> next = search_.NextToAsk();
  if (!next) return Status();
  Notice ask;
  ask.kind = NoticeKind::kAsk;
  return notices_->Send(*next, ask);
}

Status MessageTransport::FinishStep(uint64_t step, Deadline deadline, ExecutionRecord* record) {
  return Await(
      step, deadline, record,
      [&] {
        return receives_->FirstMissing(kDataTag, -1, step) == nullptr &&
               sends_->FirstUnsent(kDataTag, step) == nullptr;
      },
      [&]() -> Awaited {
        const IncomingMessage* const missing = receives_->FirstMissing(kDataTag, -1, step);
        if (missing != nullptr) return {missing->member, " did not send its message of step "};
        const OutgoingMessage* const unsent = sends_->FirstUnsent(kDataTag, step);
        if (unsent != nullptr) return {unsent->member, " did not take its message of step ", true};
        return {ranks_.own_member(), " finished step "};
      });
}

Status MessageTransport::PublishLanded(uint64_t step) {
  last_step_ = step;
  RESHARD_RETURN_IF_ERROR(Poll(nullptr));
  RESHARD_RETURN_IF_ERROR(links_->PublishLanded(step));
  return Poll(nullptr);
}

StatusOr<const uint8_t*> MessageTransport::AwaitLanded(uint32_t lander, uint64_t step,
                                                       Deadline deadline) {
  const StatusOr<size_t> found = NeighbourOf(lander);
  if (!found.ok()) return found.status();
  RESHARD_RETURN_IF_ERROR(Await(
      step, deadline, nullptr, [&] { return links_->Landed(*found, step); },
      [&]() -> Awaited {
        return {links_->neighbour(*found).member, " did not land step "};
      }));
  return links_->ArenaOf(*found);
}

Status MessageTransport::PublishReads(uint64_t step) {
  RESHARD_RETURN_IF_ERROR(Poll(nullptr));
  return links_->PublishReads(step);
}

Status MessageTransport::AwaitReads(uint32_t reader, uint64_t step, Deadline deadline) {
  const StatusOr<size_t> found = NeighbourOf(reader);
  if (!found.ok()) return found.status();
  return Await(
      step, deadline, nullptr, [&] { return links_->ReadsDone(*found, step); },
      [&]() -> Awaited {
        return {links_->neighbour(*found).member, " did not finish reading step "};
      });
}

Status MessageTransport::FinishExecution(Deadline deadline) {
  return Await(
      last_step_, deadline, nullptr,
      [&] {
        const StatusOr<int> unsent = notices_->FirstUnsent();
        return unsent.ok() && *unsent < 0 && sends_->idle();
      },
      [&]() -> Awaited {
        const OutgoingMessage* const push = sends_->FirstUnsent(kPushTag, UINT64_MAX);
        if (push != nullptr)
          return {push->member, " did not take what landed for it in step ", true};
        const StatusOr<int> unsent = notices_->FirstUnsent();
        return {unsent.ok() && *unsent >= 0 ? *unsent : ranks_.own_member(),
                " did not take all credits and signals of this rank up to step ", true};
      });
}

void MessageTransport::TakeForeignAbort() {
  Status reason;
  {
    const std::lock_guard lock(foreign_mutex_);
    reason = foreign_abort_;
  }
  const int own_member = ranks_.own_member();
  failure_ = Status(StatusCode::kAborted, ranks_.Text(own_member) + " failed: " + reason.message());
  SpreadAbort(own_member, reason, own_member);
}

void MessageTransport::Abort(const Status& reason) {
  {
    const std::lock_guard lock(foreign_mutex_);
    if (has_foreign_abort_.load(std::memory_order_relaxed)) return;
    foreign_abort_ = reason;
    has_foreign_abort_.store(true, std::memory_order_release);
  }
  // The thread that uses the port tells the others; if it is another one, at its next call.
  if (caller_.load(std::memory_order_relaxed) == std::this_thread::get_id()) TellAbort();
}

void MessageTransport::TellAbort() {
  if (failure_.ok() && has_foreign_abort_.load(std::memory_order_acquire)) TakeForeignAbort();
}

}  // namespace

StatusOr<std::shared_ptr<RankTransport>> MakeMessageTransport(const MessageTransportSpec& spec,
                                                              Deadline deadline) {
  StatusOr<std::unique_ptr<SharedSegment>> segment =
      SharedSegment::Create(spec.engine->arena_bytes);
  if (!segment.ok()) return segment.status();
  auto transport = std::make_shared<MessageTransport>(spec, *std::move(segment));
  RESHARD_RETURN_IF_ERROR(transport->Connect(spec, deadline));
  return std::shared_ptr<RankTransport>(std::move(transport));
}

}  // namespace reshard
