// IncomingConnections: those of other members to this one, and of whoever else connects.
//
// Each is read until it has nothing more, straight to where its messages go. Whoever connects has
// to greet with the secret of this member; other connections are closed, and those that do not say
// in time who they are.
#ifndef RESHARD_RUNTIME_EXEC_TCP_INCOMING_CONNECTIONS_H_
#define RESHARD_RUNTIME_EXEC_TCP_INCOMING_CONNECTIONS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/tcp/greeting.h"
#include "runtime/exec/tcp/inbox.h"
#include "runtime/exec/tcp/message_op.h"
#include "runtime/exec/tcp/poller.h"
#include "runtime/exec/tcp/socket.h"

namespace reshard {

class IncomingConnections {
 public:
  // `poller` and `inbox` outlive it. `secret` is that of `own`, this member.
  IncomingConnections(int own, size_t member_count, std::array<uint64_t, 2> secret,
                      Descriptor listener, Poller* poller, Inbox* inbox);
  Status Start();

  // After an event of the listener, of a connection, and after all events of a round.
  Status AcceptAll();
  void ReadFrom(size_t index);
  void CloseLateStrangers();

  // Whether a connection of the member came, and whether it, or the hope for it, has ended.
  bool has_connected(int member) const { return has_connected_[static_cast<size_t>(member)]; }
  bool lost(int member) const { return lost_[static_cast<size_t>(member)]; }
  void Lose(int member) { lost_[static_cast<size_t>(member)] = true; }
  // Nobody wants the bytes any more that go there.
  void Forget(const MessageOp* op);

 private:
  using Clock = std::chrono::steady_clock;

  // A connection of another member, or of somebody who has not said who it is.
  struct Incoming {
    Descriptor socket;
    int member = -1;
    Clock::time_point accepted_at;
    Greeting greeting;
    MessageHead head;
    size_t head_bytes = 0;  // read so far, of the greeting or the head
    Arriving arriving;
    bool in_body = false;
    uint64_t body_bytes = 0;  // read so far
  };

  // Where a connection can be put; closes another one for it if need be.
  size_t FreeIncoming();
  // Where the next bytes go; false when the connection is of no use any more.
  bool NextPlace(Incoming* in, std::span<uint8_t>* place);
  bool TakeBytes(Incoming* in, size_t bytes);
  bool TakeGreeting(Incoming* in);
  bool BeginBody(Incoming* in);
  void EndBody(Incoming* in);
  void Close(size_t index);

  const uint32_t own_;
  const std::array<uint64_t, 2> secret_;
  const Descriptor listener_;
  Poller& poller_;
  Inbox& inbox_;
  std::vector<std::unique_ptr<Incoming>> incoming_;  // null where one has ended
  size_t strangers_ = 0;                             // of these, who have not said who they are
  std::vector<bool> has_connected_;                  // by member: to this one
  std::vector<bool> lost_;                           // by member: for receives
  std::vector<uint8_t> scrap_;                       // for bytes that nobody wants
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_TCP_INCOMING_CONNECTIONS_H_
