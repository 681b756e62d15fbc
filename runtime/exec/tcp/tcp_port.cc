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

#include "runtime/exec/tcp/greeting.h"
#include "runtime/exec/tcp/inbox.h"
#include "runtime/exec/tcp/incoming_connections.h"
#include "runtime/exec/tcp/message_op.h"
#include "runtime/exec/tcp/poller.h"

namespace reshard {
namespace {

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

class TcpPort final : public MessagePort {
 public:
  TcpPort(int own, std::vector<TcpMember> members, Descriptor listener, Poller poller)
      : own_(own),
        members_(std::move(members)),
        poller_(std::move(poller)),
        inbox_(members_.size()),
        incoming_(own, members_.size(), members_[static_cast<size_t>(own)].secret,
                  std::move(listener), &poller_, &inbox_),
        outgoing_(members_.size()) {
    doubtful_.reserve(members_.size());
  }
  Status Start() { return incoming_.Start(); }

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
  bool LostForReceives(int member) const override { return incoming_.lost(member); }
  bool LostForSends(int member) const override {
    return LostForReceives(member) ||
           outgoing_[static_cast<size_t>(member)].state == Outgoing::State::kLost;
  }

 private:
  MessageRequest RequestOf(MessageOp* op) const;

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

  const int own_;
  const std::vector<TcpMember> members_;
  Poller poller_;
  Inbox inbox_;
  IncomingConnections incoming_;
  std::vector<Outgoing> outgoing_;  // by member
  std::vector<Doubtful> doubtful_;  // in the order of lost_at
  MessageOpPool ops_;
};

MessageOp* OpOf(const MessageRequest& request) {
  return reinterpret_cast<MessageOp*>(static_cast<uintptr_t>(request.bits));
}

MessageRequest TcpPort::RequestOf(MessageOp* op) const {
  return {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(op)), true};
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
  return poller_.Add(out.socket, EPOLLIN | EPOLLRDHUP | EPOLLOUT, Poller::What::kOutgoing,
                     static_cast<size_t>(member));
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
  return poller_.Change(out.socket, events, Poller::What::kOutgoing, static_cast<size_t>(member));
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
  if (!incoming_.has_connected(member)) doubtful_.push_back({member, Clock::now()});
}

void TcpPort::LoseDoubtful() {
  if (doubtful_.empty()) return;
  const Clock::time_point now = Clock::now();
  std::erase_if(doubtful_, [&](const Doubtful& doubtful) {
    if (incoming_.has_connected(doubtful.member)) return true;
    if (now - doubtful.lost_at < kLateConnection) return false;
    incoming_.Lose(doubtful.member);
    return true;
  });
}

Status TcpPort::Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) {
  MessageOp* const op = ops_.New(MessageOp::Kind::kReceive, member, tag);
  op->in = bytes.data();
  op->bytes = bytes.size();
  *request = RequestOf(op);
  inbox_.Post(op);
  return Status();
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
  return inbox_.Probe(member, tag);
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
    inbox_.Withdraw(op);
    incoming_.Forget(op);
  }
  ops_.Free(op);
  return false;
}

Status TcpPort::Progress() {
  for (bool more = true; more;) {
    const StatusOr<std::span<const Poller::Event>> events = poller_.Next();
    if (!events.ok()) return events.status();
    for (const Poller::Event& event : *events) {
      switch (event.what) {
        case Poller::What::kListener:
          RESHARD_RETURN_IF_ERROR(incoming_.AcceptAll());
          break;
        case Poller::What::kIncoming:
          incoming_.ReadFrom(event.index);
          break;
        case Poller::What::kOutgoing:
          // Nobody ever sends anything back, so what there is to read is an end.
          if ((event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
            LoseOutgoing(static_cast<int>(event.index));
          } else {
            RESHARD_RETURN_IF_ERROR(Continue(static_cast<int>(event.index)));
          }
          break;
      }
    }
    more = events->size() == Poller::kMaxEvents;
  }
  incoming_.CloseLateStrangers();
  LoseDoubtful();
  return Status();
}

}  // namespace

StatusOr<std::unique_ptr<MessagePort>> MakeTcpPort(int own, std::vector<TcpMember> members,
                                                   Descriptor listener) {
  StatusOr<Poller> poller = Poller::Make();
  if (!poller.ok()) return poller.status();
  auto port =
      std::make_unique<TcpPort>(own, std::move(members), std::move(listener), *std::move(poller));
  RESHARD_RETURN_IF_ERROR(port->Start());
  return std::unique_ptr<MessagePort>(std::move(port));
}

}  // namespace reshard
