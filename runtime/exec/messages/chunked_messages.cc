#include "runtime/exec/messages/chunked_messages.h"

#include <algorithm>
#include <string>
#include <utility>

namespace reshard {
namespace {

constexpr int64_t kChunkStepBytes = 4096;

Status CheckChunk(const MessagePort& port, int64_t bytes) {
  if (bytes >= 0 && ChunkBytes(bytes) <= port.max_message_bytes()) return Status();
  return Status(StatusCode::kLimitExceeded,
                "a message of " + std::to_string(bytes) + " bytes is too long");
}

}  // namespace

int64_t ChunkBytes(int64_t message_bytes) {
  const int64_t least = message_bytes / kMaxChunks + 1;
  return std::max(kSmallChunkBytes,
                  (least + kChunkStepBytes - 1) / kChunkStepBytes * kChunkStepBytes);
}

int64_t ChunkCount(int64_t message_bytes) {
  const int64_t chunk = ChunkBytes(message_bytes);
  return (message_bytes + chunk - 1) / chunk;
}

ChunkedSends::ChunkedSends(MessagePort* port, size_t max_messages)
    : port_(*port), window_(kWindow) {
  messages_.reserve(max_messages);
}

void ChunkedSends::Add(const OutgoingMessage& message) {
  Entry entry;
  entry.message = message;
  entry.chunks_left = ChunkCount(message.bytes);
  entry.id = next_id_++;
  const auto after = std::find_if(messages_.begin(), messages_.end(), [&](const Entry& other) {
    return std::pair(other.message.step, other.message.order) >
           std::pair(message.step, message.order);
  });
  messages_.insert(after, entry);
}

OutgoingMessage* ChunkedSends::Find(int member, int tag, uint64_t step) {
  for (Entry& entry : messages_) {
    OutgoingMessage& message = entry.message;
    if (message.member == member && message.tag == tag && message.step == step) return &message;
  }
  return nullptr;
}

Status ChunkedSends::PostChunk(Entry* entry) {
  const OutgoingMessage& message = entry->message;
  const int64_t bytes = std::min(ChunkBytes(message.bytes), message.bytes - entry->posted_bytes);
  RESHARD_RETURN_IF_ERROR(CheckChunk(port_, message.bytes));
  Chunk& chunk = window_[(window_begin_ + window_count_) % kWindow];
  RESHARD_RETURN_IF_ERROR(
      port_.Send(message.member, message.tag,
                 {message.data + entry->posted_bytes, static_cast<size_t>(bytes)}, &chunk.request));
  chunk.entry_id = entry->id;
  ++window_count_;
  entry->posted_bytes += bytes;
  return Status();
}

StatusOr<bool> ChunkedSends::Complete() {
  bool moved = false;
  while (window_count_ > 0) {
    Chunk& chunk = window_[window_begin_];
    const StatusOr<bool> sent = port_.Test(&chunk.request);
    if (!sent.ok()) return sent.status();
    if (!*sent) break;
    const auto entry = std::find_if(messages_.begin(), messages_.end(),
                                    [&](const Entry& e) { return e.id == chunk.entry_id; });
    if (--entry->chunks_left == 0) messages_.erase(entry);
    window_begin_ = (window_begin_ + 1) % kWindow;
    --window_count_;
    moved = true;
  }
  return moved;
}

StatusOr<bool> ChunkedSends::Poll() {
  const StatusOr<bool> completed = Complete();
  if (!completed.ok()) return completed.status();
  bool moved = *completed;
  for (size_t m = 0; m < messages_.size() && window_count_ < kWindow; ++m) {
    Entry& entry = messages_[m];
    if (!entry.message.allowed) continue;
    while (entry.posted_bytes < entry.message.bytes && window_count_ < kWindow) {
      RESHARD_RETURN_IF_ERROR(PostChunk(&entry));
      moved = true;
    }
  }
  return moved;
}

const OutgoingMessage* ChunkedSends::FirstUnsent(int tag, uint64_t step) const {
  for (const Entry& entry : messages_) {
    if (entry.message.tag == tag && entry.message.step <= step) return &entry.message;
  }
  return nullptr;
}

bool ChunkedSends::Abandon() {
  bool in_use = false;
  for (Chunk& chunk : window_) in_use = port_.Abandon(&chunk.request) || in_use;
  window_count_ = 0;
  messages_.clear();
  return in_use;
}

ChunkedReceives::ChunkedReceives(MessagePort* port, size_t max_messages)
    : port_(*port), entries_(max_messages) {
  for (Entry& entry : entries_) entry.chunks.reserve(static_cast<size_t>(kMaxChunks) + 1);
}

Status ChunkedReceives::Add(const IncomingMessage& message) {
  RESHARD_RETURN_IF_ERROR(CheckChunk(port_, message.bytes));
  if (message.bytes == 0) return Status();
  if (active_ == entries_.size()) entries_.emplace_back();
  Entry& entry = entries_[active_];
  entry.message = message;
  entry.first_missing = 0;
  entry.chunks.clear();
  ++active_;
  const int64_t chunk_bytes = ChunkBytes(message.bytes);
  for (int64_t at = 0; at < message.bytes; at += chunk_bytes) {
    entry.chunks.emplace_back();
    const int64_t bytes = std::min(chunk_bytes, message.bytes - at);
    RESHARD_RETURN_IF_ERROR(port_.Receive(message.member, message.tag,
                                          {message.data + at, static_cast<size_t>(bytes)},
                                          &entry.chunks.back()));
  }
  return Status();
}

const IncomingMessage* ChunkedReceives::Find(int member, int tag, uint64_t step) const {
  for (size_t e = 0; e < active_; ++e) {
    const IncomingMessage& message = entries_[e].message;
    if (message.member == member && message.tag == tag && message.step == step) return &message;
  }
  return nullptr;
}

StatusOr<bool> ChunkedReceives::Poll() {
  bool moved = false;
  size_t kept = 0;
  for (size_t e = 0; e < active_; ++e) {
    Entry& entry = entries_[e];
    while (entry.first_missing < entry.chunks.size()) {
      const StatusOr<bool> here = port_.Test(&entry.chunks[entry.first_missing]);
      if (!here.ok()) return here.status();
      if (!*here) break;
      ++entry.first_missing;
      moved = true;
    }
    if (entry.first_missing == entry.chunks.size()) continue;
    if (kept != e) std::swap(entries_[kept], entry);
    ++kept;
  }
  active_ = kept;
  return moved;
}

const IncomingMessage* ChunkedReceives::FirstMissing(int tag, int member, uint64_t step) const {
  for (size_t e = 0; e < active_; ++e) {
    const IncomingMessage& message = entries_[e].message;
    if (message.tag == tag && message.step <= step && (member < 0 || message.member == member)) {
      return &message;
    }
  }
  return nullptr;
}

bool ChunkedReceives::Abandon() {
  bool in_use = false;
  for (Entry& entry : entries_) {
    for (MessageRequest& chunk : entry.chunks) in_use = port_.Abandon(&chunk) || in_use;
  }
  active_ = 0;
  return in_use;
}

}  // namespace reshard
