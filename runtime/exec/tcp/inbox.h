// Inbox: receives that were posted, and messages that came before anybody had asked for them.
//
// Messages of one member with one tag are given out in the order in which they came, to the receive
// that was posted first; one for that member goes before one for any. Receives are the caller's
// ops, which it keeps until they are over or withdrawn.
#ifndef RESHARD_RUNTIME_EXEC_TCP_INBOX_H_
#define RESHARD_RUNTIME_EXEC_TCP_INBOX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/exec/tcp/message_op.h"

namespace reshard {

// A message that nobody has asked for yet.
struct Unexpected {
  int member = 0;
  int tag = 0;
  bool whole = false;
  std::vector<uint8_t> bytes;
};

// Where the bytes of a message go that is on its way: to one of these; to none when nobody wants
// them.
struct Arriving {
  MessageOp* op = nullptr;
  Unexpected* unexpected = nullptr;
};

class Inbox {
 public:
  explicit Inbox(size_t member_count);

  // From op->member, or from any. Over at once when its message is here.
  void Post(MessageOp* op);
  // `op` was posted. Of no effect when a message has begun to arrive in it.
  void Withdraw(MessageOp* op) { PostedFor(op->member).Remove(op); }
  // The bytes of a message that is here as a whole.
  std::optional<int64_t> Probe(int member, int tag) const;

  // A message of `bytes` begins; false when it is too long to be kept.
  bool Begin(int member, int tag, uint64_t bytes, Arriving* arriving);
  // All its bytes are where they belong.
  void End(Arriving* arriving);
  // No more of its bytes will come. A receive that has got some stays open: its member is lost.
  void Break(Arriving* arriving);

 private:
  MessageOpList& PostedFor(int member) { return posted_[static_cast<size_t>(member + 1)]; }
  MessageOp* TakePosted(int member, int tag);
  static void Deliver(const Unexpected& message, MessageOp* op);
  Unexpected* NewUnexpected(int member, int tag, uint64_t bytes);
  void FreeUnexpected(const Unexpected* message);

  std::vector<MessageOpList> posted_;                    // from any member, then by member
  std::vector<std::unique_ptr<Unexpected>> unexpected_;  // in the order in which they came
  std::vector<std::unique_ptr<Unexpected>> spare_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_INBOX_H_
