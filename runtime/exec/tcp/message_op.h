// MessageOp: a send or receive of TcpPort that has been started, and lists of them.
//
// Ops come from a pool and lie still, so that starting one allocates nothing once there have been
// as many at a time.
#ifndef RESHARD_RUNTIME_EXEC_TCP_MESSAGE_OP_H_
#define RESHARD_RUNTIME_EXEC_TCP_MESSAGE_OP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/exec/messages/message_port.h"

namespace reshard {

// What each message begins with.
struct MessageHead {
  uint32_t tag = 0;
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};
static_assert(sizeof(MessageHead) == 16);

struct MessageOp {
  enum class Kind { kSend, kReceive };

  Kind kind = Kind::kSend;
  int member = 0;
  int tag = 0;
  MessageHead head;              // of a send
  const uint8_t* out = nullptr;  // of a send: the bytes from out_begin on
  uint64_t out_begin = 0;
  uint8_t* in = nullptr;    // of a receive
  uint64_t bytes = 0;       // to send, or room for
  uint64_t sent_bytes = 0;  // of head and bytes
  Arrival arrival;
  bool over = false;
  bool too_long = false;      // a message came for which there is no room
  bool abandoned = false;     // nobody asks any more: back to the pool when over
  std::vector<uint8_t> kept;  // the bytes of a send that was abandoned in the middle
  MessageOp* next = nullptr;  // in its list
};

// First in, first out, with removal from the middle.
class MessageOpList {
 public:
  MessageOp* first() const { return first_; }
  void Add(MessageOp* op);
  void Remove(MessageOp* op);
  // The first one with `tag`, taken out; null when there is none.
  MessageOp* Take(int tag);

 private:
  MessageOp* first_ = nullptr;
  MessageOp* last_ = nullptr;
};

class MessageOpPool {
 public:
  // Ops that exist from now on.
  void Reserve(size_t count);
  MessageOp* New(MessageOp::Kind kind, int member, int tag);
  void Free(MessageOp* op) { free_.push_back(op); }
  size_t in_use() const { return ops_.size() - free_.size(); }

 private:
  std::vector<std::unique_ptr<MessageOp>> ops_;
  std::vector<MessageOp*> free_;  // has room for all
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_MESSAGE_OP_H_
