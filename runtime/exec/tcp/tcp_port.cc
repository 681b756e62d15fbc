#include "runtime/exec/tcp/tcp_port.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/exec/tcp/message_op.h"

namespace reshard {
namespace {

// What a connection begins with.
struct Greeting {
  static constexpr uint64_t kMagic = 0x3130504344485352;  // "RSHDCP01", also tells the byte order

  uint64_t magic = kMagic;
  uint32_t from = 0;
  uint32_t to = 0;
  std::array<uint64_t, 2> secret{};  // of `to`
};
static_assert(sizeof(Greeting) == 32);

// A message for which no receive is posted yet; nobody sends larger ones.
constexpr uint64_t kMaxUnexpectedBytes = uint64_t{1} << 32;
// Of these so many are ready from the beginning, and small ones are used again.
constexpr size_t kSpares = 64;
constexpr size_t kSpareBytes = 512;
// A connection is read this often before others get their turn.
constexpr int kReadsInTurn = 64;
// Connections that have not said who they are, beyond one of each member; then the oldest goes.
constexpr size_t kMaxStrangers = 64;
// How long one may take to say so. A member does it as soon as it is connected.
constexpr std::chrono::seconds kGreetingTime{5};

// A member that never connected to this one may have done so just before it ended: for this long
// after that, what it sent may still come.
constexpr std::chrono::seconds kLateConnection{3};

using Clock = std::chrono::steady_clock;

// Sends to one member.
struct Outgoing {
  enum class State { kNone, kConnecting, kGreeting, kOpen, kLost };

  Descriptor socket;
  State state = State::kNone;
  Greeting greeting;
  size_t greeted_bytes = 0;
  MessageOpList queue;
  bool waits_for_room = false;  // epoll watches for it
};

struct Unexpected {
  int member = 0;
  int tag = 0;
  bool whole = false;
  std::vector<uint8_t> bytes;
};

// A connection of another member, or of somebody who has not said who it is.
struct Incoming {
  Descriptor socket;
  int member = -1;
  Clock::time_point accepted_at;
  Greeting greeting;
  MessageHead head;
  size_t head_bytes = 0;  // read so far, of the greeting or the head
  // The bytes of a message go to one of these; to none when nobody wants them.
  MessageOp* op = nullptr;
  Unexpected* unexpected = nullptr;
  bool in_body = false;
  uint64_t body_bytes = 0;  // read so far
};

class TcpPort final : public MessagePort {
 public:
  TcpPort(int own, std::vector<TcpMember> members, Descriptor listener, Descriptor poller)
      : own_(own),
        members_(std::move(members)),
        listener_(std::move(listener)),
        poller_(std::move(poller)),
        outgoing_(members_.size()),
        posted_(members_.size() + 1),
        has_connected_(members_.size(), false),
        lost_(members_.size(), false),
        scrap_(64 * 1024) {
    doubtful_.reserve(members_.size());
    unexpected_.reserve(kSpares);
    for (size_t s = 0; s < kSpares; ++s) {
      spare_.push_back(std::make_unique<Unexpected>());
      spare_.back()->bytes.reserve(kSpareBytes);
    }
  }
  Status Start() { return Watch(listener_, EPOLLIN, kListener, 0, EPOLL_CTL_ADD); }

  int member() const override { return own_; }
  int member_count() const override { return static_cast<int>(members_.size()); }
  int64_t max_message_bytes() const override { return int64_t{1} << 32; }
  Status Send(int member, int tag, std::span<const uint8_t> bytes,
              MessageRequest* request) override;
  Status Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) override;
  StatusOr<bool> Test(MessageRequest* request, Arrival* arrival) override;
  StatusOr<std::optional<int64_t>> Probe(int member, int tag) override;
  Status Progress() override;
  bool Abandon(MessageRequest* request) override;
  void Reserve(size_t more_requests) override { ops_.Reserve(ops_.in_use() + more_requests); }
  bool LostForReceives(int member) const override { return lost_[static_cast<size_t>(member)]; }
  bool LostForSends(int member) const override {
    return LostForReceives(member) ||
           outgoing_[static_cast<size_t>(member)].state == Outgoing::State::kLost;
  }

 private:
  enum Watched : uint32_t { kListener, kOutgoing, kIncoming };

  Status Watch(const Descriptor& socket, uint32_t events, Watched what, size_t index, int how);
  MessageRequest RequestOf(MessageOp* op) const;
  MessageOpList& PostedFor(int member) { return posted_[static_cast<size_t>(member + 1)]; }

  // A member to which no bytes will go any more, and from which no connection has come.
  struct Doubtful {
    int member = 0;
    Clock::time_point lost_at;
  };

  Status Connect(int member);
  // Sends what can be sent; a connection that has ended makes the member lost for sends.
  Status Continue(int member);
  bool Greet(Outgoing* out);
  bool SendFirst(Outgoing* out);
  void LoseOutgoing(int member);
  void LoseDoubtful();

  Status AcceptAll();
  // Where a connection can be put; closes another one for it if need be.
  size_t FreeIncoming();
  void CloseLateStrangers();
  void ReadFrom(size_t index);
  // Where the next bytes go; false when the connection is of no use any more.
  bool NextPlace(Incoming* in, std::span<uint8_t>* place);
  bool TakeBytes(Incoming* in, size_t bytes);
  bool TakeGreeting(Incoming* in);
  bool BeginBody(Incoming* in);
  void EndBody(Incoming* in);
  void Deliver(const Unexpected& message, MessageOp* op);
  void CloseIncoming(size_t index);
  Unexpected* NewUnexpected(int member, int tag, uint64_t bytes);
  void FreeUnexpected(const Unexpected* message);

  const int own_;
  const std::vector<TcpMember> members_;
  const Descriptor listener_;
  const Descriptor poller_;
  std::vector<Outgoing> outgoing_;                   // by member
  std::vector<std::unique_ptr<Incoming>> incoming_;  // null where one has ended
  size_t strangers_ = 0;                             // of these, who have not said who they are
  std::vector<MessageOpList> posted_;                // receives: from any member, then by member
  std::vector<std::unique_ptr<Unexpected>> unexpected_;  // in the order in which they came
  std::vector<std::unique_ptr<Unexpected>> spare_;
  std::vector<bool> has_connected_;  // by member: to this one
  std::vector<bool> lost_;           // by member: for receives
  std::vector<Doubtful> doubtful_;   // in the order of lost_at
  std::vector<uint8_t> scrap_;       // for bytes that nobody wants
  MessageOpPool ops_;
};

MessageOp* OpOf(const MessageRequest& request) {
  return reinterpret_cast<MessageOp*>(static_cast<uintptr_t>(request.bits));
}

MessageRequest TcpPort::RequestOf(MessageOp* op) const {
  return {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(op)), true};
}

Status TcpPort::Watch(const Descriptor& socket, uint32_t events, Watched what, size_t index,
                      int how) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = static_cast<uint64_t>(what) << 32 | index;
  if (epoll_ctl(poller_.get(), how, socket.get(), &event) == 0) return Status();
  return SocketError("epoll_ctl", errno);
}

Status TcpPort::Send(int member, int tag, std::span<const uint8_t> bytes, MessageRequest* request) {
  MessageOp* const op = ops_.New(MessageOp::Kind::kSend, member, tag);
  op->head = {static_cast<uint32_t>(tag), 0, bytes.size()};
  op->out = bytes.data();
  op->bytes = bytes.size();
  Outgoing& out = outgoing_[static_cast<size_t>(member)];
  const bool first = out.queue.first() == nullptr;
  out.queue.Add(op);
  *request = RequestOf(op);
  if (out.state == Outgoing::State::kNone && !LostForSends(member)) return Connect(member);
  return first && out.state == Outgoing::State::kOpen ? Continue(member) : Status();
}

Status TcpPort::Connect(int member) {
  Outgoing& out = outgoing_[static_cast<size_t>(member)];
  const TcpMember& target = members_[static_cast<size_t>(member)];
  StatusOr<Descriptor> socket = StartConnect(target.endpoint);
  if (!socket.ok()) {
    if (socket.status().code() == StatusCode::kLimitExceeded) return socket.status();
    LoseOutgoing(member);
    return Status();
  }
  out.socket = *std::move(socket);
  out.greeting = {Greeting::kMagic, static_cast<uint32_t>(own_), static_cast<uint32_t>(member),
                  target.secret};
  out.state = Outgoing::State::kConnecting;
  out.waits_for_room = true;
  return Watch(out.socket, EPOLLIN | EPOLLRDHUP | EPOLLOUT, kOutgoing, static_cast<size_t>(member),
               EPOLL_CTL_ADD);
}

Status TcpPort::Continue(int member) {
  Outgoing& out = outgoing_[static_cast<size_t>(member)];
  if (out.state == Outgoing::State::kConnecting) {
    const int error = ConnectError(out.socket);
    if (error != 0) {
      LoseOutgoing(member);
      return Status();
    }
    out.state = Outgoing::State::kGreeting;
  }
  bool room = out.state != Outgoing::State::kGreeting || Greet(&out);
  while (room && out.state == Outgoing::State::kOpen && out.queue.first() != nullptr) {
    room = SendFirst(&out);
  }
  if (out.state == Outgoing::State::kLost) {
    LoseOutgoing(member);
    return Status();
  }
  if (room != out.waits_for_room) return Status();
  out.waits_for_room = !room;
  const uint32_t events = EPOLLIN | EPOLLRDHUP | (room ? 0U : static_cast<uint32_t>(EPOLLOUT));
  return Watch(out.socket, events, kOutgoing, static_cast<size_t>(member), EPOLL_CTL_MOD);
}

// What a call that sends has done: bytes, 0 when there is no room, less when the connection ended.
ssize_t SendSome(const Descriptor& socket, iovec* parts, size_t count) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  for (;;) {
    const ssize_t sent = sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? 0 : -1;
  }
}

// Whether there is room for more.
bool TcpPort::Greet(Outgoing* out) {
  iovec part{reinterpret_cast<uint8_t*>(&out->greeting) + out->greeted_bytes,
             sizeof(Greeting) - out->greeted_bytes};
  const ssize_t sent = SendSome(out->socket, &part, 1);
  if (sent < 0) out->state = Outgoing::State::kLost;
  if (sent <= 0) return false;
  out->greeted_bytes += static_cast<size_t>(sent);
  if (out->greeted_bytes < sizeof(Greeting)) return false;
  out->state = Outgoing::State::kOpen;
  return true;
}

bool TcpPort::SendFirst(Outgoing* out) {
  MessageOp* const op = out->queue.first();
  const uint64_t head = std::min<uint64_t>(op->sent_bytes, sizeof(MessageHead));
  const uint64_t body = op->sent_bytes - head;
  iovec parts[2] = {
      {reinterpret_cast<uint8_t*>(&op->head) + head, sizeof(MessageHead) - head},
      {const_cast<uint8_t*>(op->out) + (body - op->out_begin), op->bytes - body},
  };
  const size_t skipped = head == sizeof(MessageHead) ? 1 : 0;
  const ssize_t sent = SendSome(out->socket, parts + skipped, 2 - skipped);
  if (sent < 0) out->state = Outgoing::State::kLost;
  if (sent <= 0) return false;
  op->sent_bytes += static_cast<uint64_t>(sent);
  if (op->sent_bytes < sizeof(MessageHead) + op->bytes) return false;
  out->queue.Remove(op);
  op->over = true;
  if (op->abandoned) ops_.Free(op);
  return true;
}

void TcpPort::LoseOutgoing(int member) {
  Outgoing& out = outgoing_[static_cast<size_t>(member)];
  out.state = Outgoing::State::kLost;
  out.socket.Close();
  if (!has_connected_[static_cast<size_t>(member)]) doubtful_.push_back({member, Clock::now()});
}

void TcpPort::LoseDoubtful() {
  if (doubtful_.empty()) return;
  const Clock::time_point now = Clock::now();
  std::erase_if(doubtful_, [&](const Doubtful& doubtful) {
    const auto member = static_cast<size_t>(doubtful.member);
    if (has_connected_[member]) return true;
    if (now - doubtful.lost_at < kLateConnection) return false;
    lost_[member] = true;
    return true;
  });
}

Status TcpPort::Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) {
  MessageOp* const op = ops_.New(MessageOp::Kind::kReceive, member, tag);
  op->in = bytes.data();
  op->bytes = bytes.size();
  *request = RequestOf(op);
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const auto& message) {
    return message->whole && message->tag == tag &&
           (member == kAnyMember || message->member == member);
  });
  if (found == unexpected_.end()) {
    PostedFor(member).Add(op);
    return Status();
  }
  Deliver(**found, op);
  FreeUnexpected(found->get());
  return Status();
}

void TcpPort::Deliver(const Unexpected& message, MessageOp* op) {
  op->too_long = message.bytes.size() > op->bytes;
  if (!op->too_long) std::copy(message.bytes.begin(), message.bytes.end(), op->in);
  op->arrival = {message.member, static_cast<int64_t>(message.bytes.size())};
  op->over = true;
}

StatusOr<bool> TcpPort::Test(MessageRequest* request, Arrival* arrival) {
  if (!request->active) return true;
  MessageOp* const op = OpOf(*request);
  if (!op->over) return false;
  if (arrival != nullptr) *arrival = op->arrival;
  const bool too_long = op->too_long;
  const Arrival came = op->arrival;
  ops_.Free(op);
  *request = MessageRequest();
  if (!too_long) return true;
  return Status(StatusCode::kCorruptData, "a message of " + std::to_string(came.bytes) +
                                              " bytes came from member " +
                                              std::to_string(came.member) + ", which is too long");
}

StatusOr<std::optional<int64_t>> TcpPort::Probe(int member, int tag) {
  for (const std::unique_ptr<Unexpected>& message : unexpected_) {
    if (message->whole && message->member == member && message->tag == tag) {
      return std::optional(static_cast<int64_t>(message->bytes.size()));
    }
  }
  return std::optional<int64_t>();
}

bool TcpPort::Abandon(MessageRequest* request) {
  if (!request->active) return false;
  MessageOp* const op = OpOf(*request);
  *request = MessageRequest();
  if (op->kind == MessageOp::Kind::kSend && !op->over && op->sent_bytes > 0) {
    // The receiver has to get the rest: without it, it could not tell where the next one begins.
    const uint64_t body = op->sent_bytes - std::min<uint64_t>(op->sent_bytes, sizeof(MessageHead));
    op->kept.assign(op->out + body, op->out + op->bytes);
    op->out = op->kept.data();
    op->out_begin = body;
    op->abandoned = true;
    return false;
  }
  if (op->kind == MessageOp::Kind::kSend) {
    outgoing_[static_cast<size_t>(op->member)].queue.Remove(op);
  } else if (!op->over) {
    PostedFor(op->member).Remove(op);
    for (const std::unique_ptr<Incoming>& in : incoming_) {
      if (in != nullptr && in->op == op) in->op = nullptr;
    }
  }
  ops_.Free(op);
  return false;
}

Status TcpPort::Progress() {
  std::array<epoll_event, 64> events;
  int count = 0;
  do {
    count = epoll_wait(poller_.get(), events.data(), static_cast<int>(events.size()), 0);
    if (count < 0 && errno != EINTR) return SocketError("epoll_wait", errno);
    for (int e = 0; e < count; ++e) {
      const epoll_event& event = events[static_cast<size_t>(e)];
      const auto index = static_cast<size_t>(event.data.u64 & UINT32_MAX);
      switch (static_cast<Watched>(event.data.u64 >> 32)) {
        case kListener:
          RESHARD_RETURN_IF_ERROR(AcceptAll());
          break;
        case kIncoming:
          ReadFrom(index);
          break;
        case kOutgoing:
          // Nobody ever sends anything back, so what there is to read is an end.
          if ((event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
            LoseOutgoing(static_cast<int>(index));
          } else {
            RESHARD_RETURN_IF_ERROR(Continue(static_cast<int>(index)));
          }
          break;
      }
    }
  } while (count == static_cast<int>(events.size()));
  CloseLateStrangers();
  LoseDoubtful();
  return Status();
}

Status TcpPort::AcceptAll() {
  for (;;) {
    StatusOr<Descriptor> socket = Accept(listener_);
    if (!socket.ok()) return socket.status();
    if (!socket->is_open()) return Status();
    const size_t index = FreeIncoming();
    incoming_[index] = std::make_unique<Incoming>();
    Incoming& in = *incoming_[index];
    in.socket = *std::move(socket);
    in.accepted_at = Clock::now();
    ++strangers_;
    RESHARD_RETURN_IF_ERROR(
        Watch(in.socket, EPOLLIN | EPOLLRDHUP, kIncoming, index, EPOLL_CTL_ADD));
    // What has come is read before anybody is given up who did not seem to connect.
    ReadFrom(index);
  }
}

size_t TcpPort::FreeIncoming() {
  for (;;) {
    const auto slot = std::find(incoming_.begin(), incoming_.end(), nullptr);
    if (slot != incoming_.end()) return static_cast<size_t>(slot - incoming_.begin());
    if (incoming_.size() < members_.size() + kMaxStrangers) {
      incoming_.push_back(nullptr);
      return incoming_.size() - 1;
    }
    // No member has two, so there are strangers among them.
    size_t oldest = incoming_.size();
    for (size_t i = 0; i < incoming_.size(); ++i) {
      if (incoming_[i]->member >= 0) continue;
      if (oldest == incoming_.size() ||
          incoming_[i]->accepted_at < incoming_[oldest]->accepted_at) {
        oldest = i;
      }
    }
    // It may have said who it is in the meantime.
    ReadFrom(oldest);
    if (incoming_[oldest] != nullptr && incoming_[oldest]->member < 0) CloseIncoming(oldest);
  }
}

void TcpPort::CloseLateStrangers() {
  if (strangers_ == 0) return;
  const Clock::time_point latest = Clock::now() - kGreetingTime;
  for (size_t i = 0; i < incoming_.size(); ++i) {
    const Incoming* const in = incoming_[i].get();
    if (in != nullptr && in->member < 0 && in->accepted_at < latest) CloseIncoming(i);
  }
}

void TcpPort::ReadFrom(size_t index) {
  Incoming* const in = incoming_[index].get();
  if (in == nullptr) return;
  for (int turn = 0; turn < kReadsInTurn; ++turn) {
    std::span<uint8_t> place;
    if (!NextPlace(in, &place)) return CloseIncoming(index);
    const ssize_t got = recv(in->socket.get(), place.data(), place.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0 || !TakeBytes(in, static_cast<size_t>(got))) return CloseIncoming(index);
    if (static_cast<size_t>(got) < place.size()) return;
  }
}

bool TcpPort::NextPlace(Incoming* in, std::span<uint8_t>* place) {
  if (in->member < 0) {
    *place = {reinterpret_cast<uint8_t*>(&in->greeting) + in->head_bytes,
              sizeof(Greeting) - in->head_bytes};
  } else if (!in->in_body) {
    *place = {reinterpret_cast<uint8_t*>(&in->head) + in->head_bytes,
              sizeof(MessageHead) - in->head_bytes};
  } else {
    const uint64_t left = in->head.bytes - in->body_bytes;
    if (in->op != nullptr) {
      *place = {in->op->in + in->body_bytes, left};
    } else if (in->unexpected != nullptr) {
      *place = {in->unexpected->bytes.data() + in->body_bytes, left};
    } else {
      *place = {scrap_.data(), std::min<uint64_t>(left, scrap_.size())};
    }
  }
  return !place->empty();
}

bool TcpPort::TakeBytes(Incoming* in, size_t bytes) {
  if (in->in_body) {
    in->body_bytes += bytes;
    if (in->body_bytes == in->head.bytes) EndBody(in);
    return true;
  }
  in->head_bytes += bytes;
  if (in->member < 0) return in->head_bytes < sizeof(Greeting) || TakeGreeting(in);
  return in->head_bytes < sizeof(MessageHead) || BeginBody(in);
}

bool TcpPort::TakeGreeting(Incoming* in) {
  const Greeting& said = in->greeting;
  const auto own = static_cast<size_t>(own_);
  if (said.magic != Greeting::kMagic || said.to != own || said.secret != members_[own].secret ||
      said.from >= members_.size() || has_connected_[said.from]) {
    return false;
  }
  in->member = static_cast<int>(said.from);
  has_connected_[said.from] = true;
  --strangers_;
  in->head_bytes = 0;
  return true;
}

bool TcpPort::BeginBody(Incoming* in) {
  const auto tag = static_cast<int>(in->head.tag);
  in->head_bytes = 0;
  in->in_body = true;
  in->body_bytes = 0;
  in->op = PostedFor(in->member).Take(tag);
  if (in->op == nullptr) in->op = PostedFor(kAnyMember).Take(tag);
  if (in->op == nullptr) {
    if (in->head.bytes > kMaxUnexpectedBytes) return false;
    in->unexpected = NewUnexpected(in->member, tag, in->head.bytes);
  } else {
    in->op->arrival = {in->member, static_cast<int64_t>(in->head.bytes)};
    if (in->head.bytes > in->op->bytes) {
      in->op->too_long = true;
      in->op->over = true;
      in->op = nullptr;
    }
  }
  if (in->head.bytes == 0) EndBody(in);
  return true;
}

void TcpPort::EndBody(Incoming* in) {
  in->in_body = false;
  if (in->op != nullptr) in->op->over = true;
  in->op = nullptr;
  Unexpected* const message = std::exchange(in->unexpected, nullptr);
  if (message == nullptr) return;
  message->whole = true;
  // A receive may have been posted since the message began.
  MessageOp* op = PostedFor(message->member).Take(message->tag);
  if (op == nullptr) op = PostedFor(kAnyMember).Take(message->tag);
  if (op == nullptr) return;
  Deliver(*message, op);
  FreeUnexpected(message);
}

void TcpPort::CloseIncoming(size_t index) {
  const Incoming& in = *incoming_[index];
  if (in.member >= 0) {
    lost_[static_cast<size_t>(in.member)] = true;
  } else {
    --strangers_;
  }
  if (in.unexpected != nullptr) FreeUnexpected(in.unexpected);
  // A receive that has got a part of its bytes stays open: its member is lost.
  incoming_[index].reset();
}

Unexpected* TcpPort::NewUnexpected(int member, int tag, uint64_t bytes) {
  if (spare_.empty()) spare_.push_back(std::make_unique<Unexpected>());
  std::unique_ptr<Unexpected> message = std::move(spare_.back());
  spare_.pop_back();
  message->member = member;
  message->tag = tag;
  message->whole = false;
  message->bytes.resize(bytes);
  unexpected_.push_back(std::move(message));
  return unexpected_.back().get();
}

void TcpPort::FreeUnexpected(const Unexpected* message) {
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(),
                                  [&](const auto& other) { return other.get() == message; });
  if ((*found)->bytes.capacity() <= kSpareBytes) spare_.push_back(std::move(*found));
  unexpected_.erase(found);
}

}  // namespace

StatusOr<std::unique_ptr<MessagePort>> MakeTcpPort(int own, std::vector<TcpMember> members,
                                                   Descriptor listener) {
  Descriptor poller(epoll_create1(EPOLL_CLOEXEC));
  if (!poller.is_open()) return SocketError("epoll_create1", errno);
  auto port =
      std::make_unique<TcpPort>(own, std::move(members), std::move(listener), std::move(poller));
  RESHARD_RETURN_IF_ERROR(port->Start());
  return std::unique_ptr<MessagePort>(std::move(port));
}

}  // namespace reshard
