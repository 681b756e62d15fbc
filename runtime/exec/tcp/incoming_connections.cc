#include "runtime/exec/tcp/incoming_connections.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace reshard {
namespace {

// A connection is read this often before others get their turn.
constexpr int kReadsInTurn = 64;
// Connections that have not said who they are, beyond one of each member; then the oldest goes.
constexpr size_t kMaxStrangers = 64;
// How long one may take to say so. A member does it as soon as it is connected.
constexpr std::chrono::seconds kGreetingTime{5};
constexpr size_t kScrapBytes = 64 * 1024;

}  // namespace

IncomingConnections::IncomingConnections(int own, size_t member_count,
                                         std::array<uint64_t, 2> secret, Descriptor listener,
                                         Poller* poller, Inbox* inbox)
    : own_(static_cast<uint32_t>(own)),
      secret_(secret),
      listener_(std::move(listener)),
      poller_(*poller),
      inbox_(*inbox),
      has_connected_(member_count, false),
      lost_(member_count, false),
      scrap_(kScrapBytes) {}

Status IncomingConnections::Start() {
  return poller_.Add(listener_, EPOLLIN, Poller::What::kListener, 0);
}

Status IncomingConnections::AcceptAll() {
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
        poller_.Add(in.socket, EPOLLIN | EPOLLRDHUP, Poller::What::kIncoming, index));
    // What has come is read before anybody is given up who did not seem to connect.
    ReadFrom(index);
  }
}

size_t IncomingConnections::FreeIncoming() {
  for (;;) {
    const auto slot = std::find(incoming_.begin(), incoming_.end(), nullptr);
    if (slot != incoming_.end()) return static_cast<size_t>(slot - incoming_.begin());
    if (incoming_.size() < lost_.size() + kMaxStrangers) {
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
    if (incoming_[oldest] != nullptr && incoming_[oldest]->member < 0) Close(oldest);
  }
}

void IncomingConnections::CloseLateStrangers() {
  if (strangers_ == 0) return;
  const Clock::time_point latest = Clock::now() - kGreetingTime;
  for (size_t i = 0; i < incoming_.size(); ++i) {
    const Incoming* const in = incoming_[i].get();
    if (in != nullptr && in->member < 0 && in->accepted_at < latest) Close(i);
  }
}

void IncomingConnections::ReadFrom(size_t index) {
  Incoming* const in = incoming_[index].get();
  if (in == nullptr) return;
  for (int turn = 0; turn < kReadsInTurn; ++turn) {
    std::span<uint8_t> place;
    if (!NextPlace(in, &place)) return Close(index);
    const ssize_t got = recv(in->socket.get(), place.data(), place.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0 || !TakeBytes(in, static_cast<size_t>(got))) return Close(index);
    if (static_cast<size_t>(got) < place.size()) return;
  }
}

bool IncomingConnections::NextPlace(Incoming* in, std::span<uint8_t>* place) {
  if (in->member < 0) {
    *place = {reinterpret_cast<uint8_t*>(&in->greeting) + in->head_bytes,
              sizeof(Greeting) - in->head_bytes};
  } else if (!in->in_body) {
    *place = {reinterpret_cast<uint8_t*>(&in->head) + in->head_bytes,
              sizeof(MessageHead) - in->head_bytes};
  } else {
    const uint64_t left = in->head.bytes - in->body_bytes;
    if (in->arriving.op != nullptr) {
      *place = {in->arriving.op->in + in->body_bytes, left};
    } else if (in->arriving.unexpected != nullptr) {
      *place = {in->arriving.unexpected->bytes.data() + in->body_bytes, left};
    } else {
      *place = {scrap_.data(), std::min<uint64_t>(left, scrap_.size())};
    }
  }
  return !place->empty();
}

bool IncomingConnections::TakeBytes(Incoming* in, size_t bytes) {
  if (in->in_body) {
    in->body_bytes += bytes;
    if (in->body_bytes == in->head.bytes) EndBody(in);
    return true;
  }
  in->head_bytes += bytes;
  if (in->member < 0) return in->head_bytes < sizeof(Greeting) || TakeGreeting(in);
  return in->head_bytes < sizeof(MessageHead) || BeginBody(in);
}

bool IncomingConnections::TakeGreeting(Incoming* in) {
  const Greeting& said = in->greeting;
  if (said.magic != Greeting::kMagic || said.to != own_ || said.secret != secret_ ||
      said.from >= lost_.size() || has_connected_[said.from]) {
    return false;
  }
  in->member = static_cast<int>(said.from);
  has_connected_[said.from] = true;
  --strangers_;
  in->head_bytes = 0;
  return true;
}

bool IncomingConnections::BeginBody(Incoming* in) {
  in->head_bytes = 0;
  in->in_body = true;
  in->body_bytes = 0;
  if (!inbox_.Begin(in->member, static_cast<int>(in->head.tag), in->head.bytes, &in->arriving)) {
    return false;
  }
  if (in->head.bytes == 0) EndBody(in);
  return true;
}

void IncomingConnections::EndBody(Incoming* in) {
  in->in_body = false;
  inbox_.End(&in->arriving);
}

void IncomingConnections::Close(size_t index) {
  Incoming& in = *incoming_[index];
  if (in.member >= 0) {
    Lose(in.member);
  } else {
    --strangers_;
  }
  inbox_.Break(&in.arriving);
  incoming_[index].reset();
}

void IncomingConnections::Forget(const MessageOp* op) {
  for (const std::unique_ptr<Incoming>& in : incoming_) {
    if (in != nullptr && in->arriving.op == op) in->arriving.op = nullptr;
  }
}

}  // namespace reshard
