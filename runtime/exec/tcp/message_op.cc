#include "runtime/exec/tcp/message_op.h"

#include <utility>

namespace reshard {

void MessageOpList::Add(MessageOp* op) {
  op->next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = op;
  last_ = op;
}

void MessageOpList::Remove(MessageOp* op) {
  MessageOp* before = nullptr;
  for (MessageOp* at = first_; at != nullptr; before = at, at = at->next) {
    if (at != op) continue;
    (before == nullptr ? first_ : before->next) = op->next;
    if (last_ == op) last_ = before;
    op->next = nullptr;
    return;
  }
}

MessageOp* MessageOpList::Take(int tag) {
  for (MessageOp* at = first_; at != nullptr; at = at->next) {
    if (at->tag != tag) continue;
    Remove(at);
    return at;
  }
  return nullptr;
}

void MessageOpPool::Reserve(size_t count) {
  ops_.reserve(count);
  free_.reserve(ops_.capacity());
  while (ops_.size() < count) {
    ops_.push_back(std::make_unique<MessageOp>());
    free_.push_back(ops_.back().get());
  }
}

MessageOp* MessageOpPool::New(MessageOp::Kind kind, int member, int tag) {
  if (free_.empty()) Reserve(2 * ops_.size() + 16);
  MessageOp* const op = free_.back();
  free_.pop_back();
  std::vector<uint8_t> kept = std::move(op->kept);
  kept.clear();
  *op = MessageOp();
  op->kept = std::move(kept);
  op->kind = kind;
  op->member = member;
  op->tag = tag;
  return op;
}

}  // namespace reshard
