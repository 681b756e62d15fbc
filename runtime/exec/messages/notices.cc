#include "runtime/exec/messages/notices.h"

#include <span>

namespace reshard {
namespace {

constexpr size_t kHeadBytes = sizeof(Notice) - Notice::kTextBytes;

}  // namespace

Notices::Notices(MessagePort* port, int tag, uint64_t transport, size_t max_sends)
    : port_(*port), tag_(tag), transport_(transport), received_(kReceives), receives_(kReceives) {
  sends_.reserve(max_sends);
  for (size_t s = 0; s < max_sends; ++s) sends_.push_back(std::make_unique<Sending>());
}

Status Notices::Start() {
  for (size_t slot = 0; slot < kReceives; ++slot) RESHARD_RETURN_IF_ERROR(Post(slot));
  return Status();
}

Status Notices::Post(size_t slot) {
  return port_.Receive(MessagePort::kAnyMember, tag_,
                       {reinterpret_cast<uint8_t*>(&received_[slot]), sizeof(Notice)},
                       &receives_[slot]);
}

StatusOr<Notices::Sending*> Notices::FreeSending() {
  for (const std::unique_ptr<Sending>& sending : sends_) {
    const StatusOr<bool> sent = port_.Test(&sending->request);
    if (!sent.ok()) return sent.status();
    if (*sent) return sending.get();
  }
  // Only where a peer takes nothing any more.
  sends_.push_back(std::make_unique<Sending>());
  return sends_.back().get();
}

Status Notices::Send(int member, const Notice& notice) {
  const StatusOr<Sending*> sending = FreeSending();
  if (!sending.ok()) return sending.status();
  (*sending)->member = member;
  (*sending)->notice = notice;
  (*sending)->notice.transport = transport_;
  return port_.Send(
      member, tag_,
      {reinterpret_cast<const uint8_t*>(&(*sending)->notice), kHeadBytes + notice.text_bytes},
      &(*sending)->request);
}

StatusOr<const Notice*> Notices::Next(int* sender) {
  if (repost_) {
    repost_ = false;
    RESHARD_RETURN_IF_ERROR(Post((next_ + kReceives - 1) % kReceives));
  }
  for (;;) {
    Arrival arrival;
    const StatusOr<bool> here = port_.Test(&receives_[next_], &arrival);
    if (!here.ok()) return here.status();
    if (!*here) return nullptr;
    const size_t slot = next_;
    next_ = (next_ + 1) % kReceives;
    const Notice& notice = received_[slot];
    const auto bytes = static_cast<size_t>(arrival.bytes);
    const bool ours = bytes >= kHeadBytes && notice.text_bytes == bytes - kHeadBytes &&
                      notice.transport == transport_;
    if (!ours) {
      RESHARD_RETURN_IF_ERROR(Post(slot));
      continue;
    }
    repost_ = true;
    *sender = arrival.member;
    return &notice;
  }
}

StatusOr<int> Notices::FirstUnsent() {
  for (const std::unique_ptr<Sending>& sending : sends_) {
    const StatusOr<bool> sent = port_.Test(&sending->request);
    if (!sent.ok()) return sent.status();
    if (!*sent && !port_.LostForSends(sending->member)) return sending->member;
  }
  return -1;
}

bool Notices::Abandon() {
  // A receive that nothing comes for is no reason to keep the buffers.
  for (MessageRequest& receive : receives_) (void)port_.Abandon(&receive);
  const StatusOr<int> unsent = FirstUnsent();
  bool in_use = false;
  for (const std::unique_ptr<Sending>& sending : sends_) {
    in_use = port_.Abandon(&sending->request) || in_use;
  }
  return in_use && !(unsent.ok() && *unsent < 0);
}

}  // namespace reshard
