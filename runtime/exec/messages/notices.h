// Notices: the small messages between ranks beside the weights.
//
// A receive for the next ones is always posted, from any rank; nothing that a rank does makes it
// send more than a few to one other before that one has answered. Each carries the number of its
// transport, so that what is left of an earlier one is dropped.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_NOTICES_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_NOTICES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/messages/message_port.h"

namespace reshard {

enum class NoticeKind : uint32_t {
  kCredit,  // `value`: step, `bytes`: its message may be sent, it has its place here
  kReads,   // `value`: PublishReads
  kAbort,   // `value`: member that failed, `code` and text: why
  kAsk,     // whom do you wait for?
  kAnswer,  // `value`: the member that is waited for, or kNobody
};

struct Notice {
  static constexpr size_t kTextBytes = 464;
  static constexpr uint64_t kNobody = UINT64_MAX;

  uint64_t transport = 0;
  NoticeKind kind = NoticeKind::kCredit;
  uint32_t code = 0;
  uint64_t value = 0;
  int64_t bytes = 0;
  uint32_t text_bytes = 0;
  uint32_t reserved = 0;
  std::array<char, kTextBytes> text{};
};
static_assert(sizeof(Notice) == 504 && sizeof(Notice) % 8 == 0);

class Notices {
 public:
  // Posted at a time.
  static constexpr size_t kReceives = 32;

  // `port` is used with `tag` by nobody else.
  Notices(MessagePort* port, int tag, uint64_t transport, size_t max_sends);
  Status Start();

  // Sends a copy. Does not wait.
  Status Send(int member, const Notice& notice);
  // The next one that has come, with its sender; null when there is none. Valid until the next
  // call.
  StatusOr<const Notice*> Next(int* sender);
  // A member to which not all that was sent has left, lost ones excepted; -1 when there is none.
  StatusOr<int> FirstUnsent();
  // Ends all receives and gives up sends that have not left; true when their bytes have to stay.
  bool Abandon();

 private:
  struct Sending {
    int member = 0;
    MessageRequest request;
    Notice notice;
  };
  Status Post(size_t slot);
  StatusOr<Sending*> FreeSending();

  MessagePort& port_;
  const int tag_;
  const uint64_t transport_;
  std::vector<std::unique_ptr<Sending>> sends_;  // stay where they are
  std::vector<Notice> received_;
  std::vector<MessageRequest> receives_;
  size_t next_ = 0;      // the receive that was posted first
  bool repost_ = false;  // the one before it has been handed out
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_NOTICES_H_
