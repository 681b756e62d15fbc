#include "runtime/exec/tcp/inbox.h"

#include <algorithm>
#include <utility>

#include "runtime/exec/messages/message_port.h"

namespace reshard {
namespace {

// A message for which no receive is posted yet; nobody sends larger ones.
constexpr uint64_t kMaxUnexpectedBytes = uint64_t{1} << 32;
// Of these so many are ready from the beginning, and small ones are used again: only a larger one that
// comes before its receive is posted takes memory of its own.
constexpr size_t kSpares = 64;
constexpr size_t kSpareBytes = size_t{4} << 10;

}  // namespace

Inbox::Inbox(size_t member_count) : posted_(member_count + 1) {
  static_assert(MessagePort::kAnyMember == -1);
  unexpected_.reserve(kSpares);
  for (size_t s = 0; s < kSpares; ++s) {
    spare_.push_back(std::make_unique<Unexpected>());
    spare_.back()->bytes.reserve(kSpareBytes);
  }
}

void Inbox::Post(MessageOp* op) {
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const auto& message) {
    return message->whole && message->tag == op->tag &&
           (op->member == MessagePort::kAnyMember || message->member == op->member);
  });
  if (found == unexpected_.end()) {
    PostedFor(op->member).Add(op);
    return;
  }
  Deliver(**found, op);
  FreeUnexpected(found->get());
}

std::optional<int64_t> Inbox::Probe(int member, int tag) const {
  for (const std::unique_ptr<Unexpected>& message : unexpected_) {
    if (message->whole && message->member == member && message->tag == tag) {
      return static_cast<int64_t>(message->bytes.size());
    }
  }
  return std::nullopt;
}

MessageOp* Inbox::TakePosted(int member, int tag) {
  MessageOp* const op = PostedFor(member).Take(tag);
  return op != nullptr ? op : PostedFor(MessagePort::kAnyMember).Take(tag);
}

bool Inbox::Begin(int member, int tag, uint64_t bytes, Arriving* arriving) {
  arriving->op = TakePosted(member, tag);
  if (arriving->op == nullptr) {
    if (bytes > kMaxUnexpectedBytes) return false;
    arriving->unexpected = NewUnexpected(member, tag, bytes);
    return true;
  }
  arriving->op->arrival = {member, static_cast<int64_t>(bytes)};
  if (bytes > arriving->op->bytes) {
    arriving->op->too_long = true;
    arriving->op->over = true;
    arriving->op = nullptr;
  }
  return true;
}

void Inbox::End(Arriving* arriving) {
  if (arriving->op != nullptr) arriving->op->over = true;
  arriving->op = nullptr;
  Unexpected* const message = std::exchange(arriving->unexpected, nullptr);
  if (message == nullptr) return;
  message->whole = true;
  // A receive may have been posted since the message began.
  MessageOp* const op = TakePosted(message->member, message->tag);
  if (op == nullptr) return;
  Deliver(*message, op);
  FreeUnexpected(message);
}

void Inbox::Break(Arriving* arriving) {
  if (arriving->unexpected != nullptr) FreeUnexpected(arriving->unexpected);
  *arriving = Arriving();
}

void Inbox::Deliver(const Unexpected& message, MessageOp* op) {
  op->too_long = message.bytes.size() > op->bytes;
  if (!op->too_long) std::copy(message.bytes.begin(), message.bytes.end(), op->in);
  op->arrival = {message.member, static_cast<int64_t>(message.bytes.size())};
  op->over = true;
}

Unexpected* Inbox::NewUnexpected(int member, int tag, uint64_t bytes) {
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

void Inbox::FreeUnexpected(const Unexpected* message) {
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(),
                                  [&](const auto& other) { return other.get() == message; });
  if ((*found)->bytes.capacity() <= kSpareBytes) spare_.push_back(std::move(*found));
  unexpected_.erase(found);
}

}  // namespace reshard
