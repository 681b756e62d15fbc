// MessagePort: messages between processes, which is all that MessageTransport and MessageControl
// need of a network library.
//
// A message has a sender, a receiver and a tag; those of one sender with one tag arrive in the
// order in which they were sent, each in the receive that was posted first. Members are numbered
// from 0. Nothing here waits: a send or receive is started, and then tested until it is over. One
// thread at a time.
//
// A member whose connection is gone is *lost*, for ever, and each direction has an end of its own:
// a member that is done closes both while its last bytes are still on their way. Receives from a
// member that is lost for receives and have not got their bytes never end, nor do sends to one that
// is lost for sends; whoever waits asks. A port that cannot know says no.
#ifndef RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_PORT_H_
#define RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_PORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/status.h"

namespace reshard {

// A send or receive on its way, or none. Its port knows what `bits` means.
struct MessageRequest {
  uint64_t bits = 0;
  bool active = false;
};

// What a receive got.
struct Arrival {
  int member = 0;
  int64_t bytes = 0;
};

class MessagePort {
 public:
  static constexpr int kAnyMember = -1;

  virtual ~MessagePort() = default;

  virtual int member() const = 0;  // this one, below member_count()
  virtual int member_count() const = 0;
  virtual int64_t max_message_bytes() const = 0;

  // Starts; `request` is active until Test says that it is over. The bytes stay until then.
  virtual Status Send(int member, int tag, std::span<const uint8_t> bytes,
                      MessageRequest* request) = 0;
  // From `member` or kAnyMember. A longer message than `bytes` is an error of the receive.
  virtual Status Receive(int member, int tag, std::span<uint8_t> bytes,
                         MessageRequest* request) = 0;
  // Whether the request is over, or is none; fills `arrival`, unless null, when a receive ended.
  virtual StatusOr<bool> Test(MessageRequest* request, Arrival* arrival = nullptr) = 0;
  // The bytes of a message that has come, for which no receive is posted.
  virtual StatusOr<std::optional<int64_t>> Probe(int member, int tag) = 0;
  // Moves bytes, where Test does not do so. Called once per round of polling.
  virtual Status Progress() { return Status(); }

  // So many requests more than now may be active at a time: no later one allocates.
  virtual void Reserve(size_t more_requests) { (void)more_requests; }

  // Gives a request up. True: its buffer has to stay for the life of the process, because the bytes
  // may still be used.
  virtual bool Abandon(MessageRequest* request) = 0;

  // Only from Progress on, which has then moved all that had come from the member.
  virtual bool LostForReceives(int member) const {
    (void)member;
    return false;
  }
  virtual bool LostForSends(int member) const {
    (void)member;
    return false;
  }
};

// Some tags of a port, for one user of several: tag t is tag first_tag + t of the port, which
// outlives it.
class PortTags final : public MessagePort {
 public:
  PortTags(MessagePort* port, int first_tag) : port_(*port), first_tag_(first_tag) {}

  int member() const override { return port_.member(); }
  int member_count() const override { return port_.member_count(); }
  int64_t max_message_bytes() const override { return port_.max_message_bytes(); }
  Status Send(int member, int tag, std::span<const uint8_t> bytes,
              MessageRequest* request) override {
    return port_.Send(member, first_tag_ + tag, bytes, request);
  }
  Status Receive(int member, int tag, std::span<uint8_t> bytes, MessageRequest* request) override {
    return port_.Receive(member, first_tag_ + tag, bytes, request);
  }
  StatusOr<bool> Test(MessageRequest* request, Arrival* arrival) override {
    return port_.Test(request, arrival);
  }
  StatusOr<std::optional<int64_t>> Probe(int member, int tag) override {
    return port_.Probe(member, first_tag_ + tag);
  }
  Status Progress() override { return port_.Progress(); }
  bool Abandon(MessageRequest* request) override { return port_.Abandon(request); }
  void Reserve(size_t more_requests) override { port_.Reserve(more_requests); }
  bool LostForReceives(int member) const override { return port_.LostForReceives(member); }
  bool LostForSends(int member) const override { return port_.LostForSends(member); }

 private:
  MessagePort& port_;
  const int first_tag_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_MESSAGES_MESSAGE_PORT_H_
