// Messages of many bytes, cut into chunks and sent in order.
//
// A rank has one queue of outgoing messages. It works through them from the front, with a limited
// number of chunks on their way, so that its NIC sees one orderly stream and not many at once; a
// message that may not be sent yet is passed over. A receiver posts all chunks of a message at
// once, before its sender begins, so that nothing arrives that has no place. Both sides cut a
// message by ChunkBytes of its length alone. Nothing here waits: Poll moves on what can be moved.
// Adding a message allocates nothing while there is room as stated at creation.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_CHUNKED_MESSAGES_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_CHUNKED_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

// Small enough to go without a handshake over TCP (64 KiB with the header of MPI), as long as that
// makes at most kMaxChunks.
inline constexpr int64_t kSmallChunkBytes = 60 * 1024;
inline constexpr int64_t kMaxChunks = 128;
int64_t ChunkBytes(int64_t message_bytes);
int64_t ChunkCount(int64_t message_bytes);

struct OutgoingMessage {
  int member = 0;
  int tag = 0;
  uint64_t step = 0;
  const uint8_t* data = nullptr;
  int64_t bytes = 0;
  uint64_t order = 0;    // among messages of one step
  bool allowed = false;  // the receiver has posted it
};

class ChunkedSends {
 public:
  // Chunks on their way at a time.
  static constexpr size_t kWindow = 16;

  ChunkedSends(MessagePort* port, size_t max_messages);

  void Add(const OutgoingMessage& message);
  // The message of (member, tag, step), null when there is none.
  OutgoingMessage* Find(int member, int tag, uint64_t step);
  // Whether anything moved.
  StatusOr<bool> Poll();

  // The first message of `tag` up to `step` that has not left; null when all have.
  const OutgoingMessage* FirstUnsent(int tag, uint64_t step) const;
  bool idle() const { return messages_.empty(); }
  // Gives up all that is on its way; true when its bytes have to stay.
  bool Abandon();

 private:
  struct Entry {
    OutgoingMessage message;
    int64_t posted_bytes = 0;
    int64_t chunks_left = 0;  // not yet known to be sent
    uint32_t id = 0;
  };
  struct Chunk {
    MessageRequest request;
    uint32_t entry_id = 0;
  };
  Status PostChunk(Entry* entry);
  StatusOr<bool> Complete();

  MessagePort& port_;
  std::vector<Entry> messages_;  // in the order of sending
  std::vector<Chunk> window_;    // a ring
  size_t window_begin_ = 0;
  size_t window_count_ = 0;
  uint32_t next_id_ = 0;
};

struct IncomingMessage {
  int member = 0;
  int tag = 0;
  uint64_t step = 0;
  uint8_t* data = nullptr;
  int64_t bytes = 0;
};

class ChunkedReceives {
 public:
  ChunkedReceives(MessagePort* port, size_t max_messages);

  // Posts all chunks.
  Status Add(const IncomingMessage& message);
  const IncomingMessage* Find(int member, int tag, uint64_t step) const;
  StatusOr<bool> Poll();

  // The first message of `tag` (and `member`, unless negative) up to `step` that is not all here.
  const IncomingMessage* FirstMissing(int tag, int member, uint64_t step) const;
  bool Abandon();

 private:
  struct Entry {
    IncomingMessage message;
    std::vector<MessageRequest> chunks;  // with room for all of any message
    size_t first_missing = 0;
  };
  MessagePort& port_;
  // The first active_ are in use, in the order in which they were added.
  std::vector<Entry> entries_;
  size_t active_ = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_CHUNKED_MESSAGES_H_
