#include "runtime/exec/messages/message_control.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exec/messages/idle_wait.h"

namespace reshard {
namespace {

constexpr int kPartTag = kControlTag;
constexpr int kResultTag = kControlTag + 1;
constexpr int kConfirmTag = kControlTag + 2;

// The root gives up early enough to tell the others why.
constexpr int kRootPercent = 80;
// Whoever waits for confirmations gives up before those above it in the tree do.
constexpr int kConfirmPercent = 90;
constexpr int kConfirmPercentPerLevel = 4;
constexpr int kLeastConfirmPercent = 30;

// What has come while this process was stopped is found within so long.
constexpr std::chrono::milliseconds kLastLook{100};

using Clock = std::chrono::steady_clock;

// What each message begins with.
struct Head {
  uint64_t group = 0;  // hash of the members
  uint64_t call = 0;   // of this group, from 0
  uint64_t part_bytes = 0;
  uint32_t failed = 0;  // a result that is none: the text of the error follows
  uint32_t reserved = 0;
};

uint64_t HashOf(std::span<const uint32_t> group) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint32_t member : group) hash = (hash ^ member) * 0x100000001B3u;
  return hash;
}

class MessageControl final : public ControlChannel {
 public:
  explicit MessageControl(MessagePort* port)
      : port_(*port),
        member_(static_cast<uint32_t>(port->member())),
        member_count_(static_cast<uint32_t>(port->member_count())) {}
  ~MessageControl() override {
    bool in_use = false;
    for (Sending& sending : sends_) in_use = port_.Abandon(&sending.request) || in_use;
    if (in_use) new std::list<Sending>(std::move(sends_));
  }

  uint32_t member() const override { return member_; }
  uint32_t member_count() const override { return member_count_; }
  Status AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                   std::span<uint8_t> all, Deadline deadline) override;

 private:
  struct Sending {
    uint32_t member = 0;
    MessageRequest request;
    std::vector<uint8_t> bytes;
  };
  struct Call {
    std::span<const uint32_t> group;
    Head head;
    size_t position = 0;
    Deadline deadline;
    bool earlier_succeeded = false;  // the call of this group before
  };
  struct Group {
    std::vector<uint32_t> members;
    uint64_t calls = 0;
    bool succeeded = false;  // the last of them
  };

  Status StartSend(uint32_t member, int tag, const Head& head, std::span<const uint8_t> body);
  // Whether all that were sent have left, except to lost members.
  bool SendsDone();
  bool Lost(uint32_t member) const { return port_.LostForReceives(static_cast<int>(member)); }
  // The next message from `member`, into buffer_. False when the deadline comes first, or the
  // member is lost.
  StatusOr<bool> ReceiveAny(uint32_t member, int tag, Deadline deadline);
  // The same for a message of this call, into `body`, or the text of an error. Messages of calls
  // that are over are passed over, unless they say that the last one failed after all.
  StatusOr<bool> Receive(const Call& call, uint32_t member, int tag, Deadline deadline,
                         std::span<uint8_t> body, Status* said);
  Status Collect(const Call& call, std::span<uint8_t> all);
  static std::vector<uint32_t> Children(const Call& call);
  Status AwaitResult(const Call& call, std::span<uint8_t> all);
  // Sends the result to the children and waits until all below this member confirm that they have
  // it: what the caller takes for agreed, nobody below has given up meanwhile.
  Status PassOn(const Call& call, std::span<const uint8_t> all);
  // The same, for a member that may come to it after the root has given up.
  Status Finish(const Call& call, std::span<uint8_t> all);
  Status AwaitConfirmations(const Call& call);
  // Tells the parent that this member and all below it have the result, or why they have not.
  Status Confirm(const Call& call, const Status& outcome);
  Status Gather(const Call& call, std::span<const uint8_t> mine, std::span<uint8_t> all);
  // Returns the failure.
  Status TellFailure(const Call& call, std::span<const uint32_t> members, const Status& failure);

  MessagePort& port_;
  const uint32_t member_;
  const uint32_t member_count_;
  std::vector<Group> groups_;
  std::list<Sending> sends_;
  std::vector<uint8_t> buffer_;
};

Status MessageControl::StartSend(uint32_t member, int tag, const Head& head,
                                 std::span<const uint8_t> body) {
  (void)SendsDone();
  Sending& sending = sends_.emplace_back();
  sending.bytes.resize(sizeof(head) + body.size());
  std::memcpy(sending.bytes.data(), &head, sizeof(head));
  std::copy(body.begin(), body.end(), sending.bytes.begin() + sizeof(head));
  sending.member = member;
  if (sending.bytes.size() > static_cast<size_t>(port_.max_message_bytes())) {
    return Status(StatusCode::kLimitExceeded, "a control message is too long");
  }
  return port_.Send(static_cast<int>(member), tag, sending.bytes, &sending.request);
}

bool MessageControl::SendsDone() {
  bool done = true;
  for (auto sending = sends_.begin(); sending != sends_.end();) {
    const StatusOr<bool> sent = port_.Test(&sending->request);
    if (sent.ok() && *sent) {
      sending = sends_.erase(sending);
    } else {
      done = done && port_.LostForSends(static_cast<int>(sending->member));
      ++sending;
    }
  }
  return done;
}

StatusOr<bool> MessageControl::ReceiveAny(uint32_t member, int tag, Deadline deadline) {
  IdleWait idle;
  const auto from = static_cast<int>(member);
  for (;;) {
    RESHARD_RETURN_IF_ERROR(port_.Progress());
    const StatusOr<std::optional<int64_t>> bytes = port_.Probe(from, tag);
    if (!bytes.ok()) return bytes.status();
    if (*bytes) {
      buffer_.resize(static_cast<size_t>(**bytes));
      break;
    }
    if (Lost(member) || Clock::now() >= deadline) return false;
    (void)SendsDone();
    idle.Pause();
  }
  MessageRequest request;
  RESHARD_RETURN_IF_ERROR(port_.Receive(from, tag, buffer_, &request));
  for (;;) {
    const StatusOr<bool> done = port_.Test(&request);
    if (!done.ok()) return done.status();
    if (*done) break;
    if (Lost(member) || Clock::now() >= deadline) {
      if (port_.Abandon(&request)) (void)new std::vector<uint8_t>(std::move(buffer_));
      return false;
    }
    RESHARD_RETURN_IF_ERROR(port_.Progress());
    idle.Pause();
  }
  return true;
}

StatusOr<bool> MessageControl::Receive(const Call& call, uint32_t member, int tag,
                                       Deadline deadline, std::span<uint8_t> body, Status* said) {
  for (;;) {
    const StatusOr<bool> here = ReceiveAny(member, tag, deadline);
    if (!here.ok() || !*here) return here;
    Head head;
    const bool whole = buffer_.size() >= sizeof(head);
    if (whole) std::memcpy(&head, buffer_.data(), sizeof(head));
    const std::span<const uint8_t> found = std::span(buffer_).subspan(whole ? sizeof(head) : 0);
    const bool same_group = whole && head.group == call.head.group;
    const bool same =
        same_group && head.call == call.head.call && head.part_bytes == call.head.part_bytes;
    const bool over = same_group && head.call < call.head.call;
    const bool failed_after_all = over && tag == kResultTag && head.failed != 0 &&
                                  head.call + 1 == call.head.call && call.earlier_succeeded;
    if ((same && head.failed != 0) || failed_after_all) {
      *said = Status(StatusCode::kTimeout, std::string(found.begin(), found.end()));
      return true;
    }
    if (tag == kConfirmTag && !same) continue;  // this member had given up
    if (tag == kResultTag && over) continue;
    if (!same || found.size() != body.size()) return OutOfStep(member);
    std::copy(found.begin(), found.end(), body.begin());
    return true;
  }
}

Status MessageControl::Collect(const Call& call, std::span<uint8_t> all) {
  const Deadline give_up = Clock::now() + (call.deadline - Clock::now()) / 100 * kRootPercent;
  const size_t part_bytes = call.head.part_bytes;
  std::vector<uint32_t> missing;
  for (size_t m = 1; m < call.group.size(); ++m) {
    Status said;
    const StatusOr<bool> here = Receive(call, call.group[m], kPartTag, give_up,
                                        all.subspan(m * part_bytes, part_bytes), &said);
    if (!here.ok()) return here.status();
    if (!*here) missing.push_back(call.group[m]);
  }
  // Awake only long after the deadline: whatever has come, the others wait no more.
  if (Clock::now() - kLastLook > call.deadline) {
    return Status(StatusCode::kTimeout, "no answer from " + NamesOf({&member_, 1}));
  }
  if (missing.empty()) return Status();
  return Status(StatusCode::kTimeout, "no answer from " + NamesOf(missing));
}

std::vector<uint32_t> MessageControl::Children(const Call& call) {
  std::vector<uint32_t> children;
  for (size_t child : {2 * call.position + 1, 2 * call.position + 2}) {
    if (child < call.group.size()) children.push_back(call.group[child]);
  }
  return children;
}

Status MessageControl::PassOn(const Call& call, std::span<const uint8_t> all) {
  for (const uint32_t child : Children(call)) {
    RESHARD_RETURN_IF_ERROR(StartSend(child, kResultTag, call.head, all));
  }
  return AwaitConfirmations(call);
}

Status MessageControl::Finish(const Call& call, std::span<uint8_t> all) {
  const auto late = [&] { return Clock::now() >= call.deadline; };
  if (!late()) RESHARD_RETURN_IF_ERROR(PassOn(call, all));
  if (late()) return Status(StatusCode::kTimeout, "no answer from " + NamesOf({&member_, 1}));
  Status said;
  const StatusOr<bool> here = Receive(call, call.group[0], kResultTag, Clock::now(), all, &said);
  return here.ok() ? said : here.status();
}

Status MessageControl::AwaitConfirmations(const Call& call) {
  int percent = kConfirmPercent;
  for (size_t p = call.position; p > 0; p = (p - 1) / 2) percent -= kConfirmPercentPerLevel;
  const Deadline begin = Clock::now();
  const Deadline give_up =
      std::max(begin + kLastLook,
               begin + (call.deadline - begin) / 100 * std::max(percent, kLeastConfirmPercent));
  std::vector<uint32_t> silent;
  for (const uint32_t child : Children(call)) {
    Status said;
    const StatusOr<bool> here = Receive(call, child, kConfirmTag, give_up, {}, &said);
    if (!here.ok()) return here.status();
    if (!said.ok()) return said;
    if (!*here) silent.push_back(child);
  }
  if (silent.empty()) return Status();
  return Status(StatusCode::kTimeout, "no answer from " + NamesOf(silent));
}

Status MessageControl::Confirm(const Call& call, const Status& outcome) {
  Head head = call.head;
  head.failed = outcome.ok() ? 0 : 1;
  const std::string& text = outcome.message();
  const std::span body(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  const uint32_t parent = call.group[(call.position - 1) / 2];
  RESHARD_RETURN_IF_ERROR(StartSend(parent, kConfirmTag, head, body));
  // The caller may never come into the port again, so it has to leave now.
  const Deadline end = std::max(call.deadline, Clock::now() + kLastLook);
  IdleWait idle;
  while (!SendsDone() && Clock::now() < end && port_.Progress().ok()) idle.Pause();
  return outcome;
}

Status MessageControl::TellFailure(const Call& call, std::span<const uint32_t> members,
                                   const Status& failure) {
  Head head = call.head;
  head.failed = 1;
  const std::string& text = failure.message();
  const std::span body(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  for (const uint32_t member : members) (void)StartSend(member, kResultTag, head, body);
  IdleWait idle;
  while (!SendsDone() && Clock::now() < call.deadline && port_.Progress().ok()) idle.Pause();
  return failure;
}

Status MessageControl::AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                                 std::span<uint8_t> all, Deadline deadline) {
  const auto own = std::lower_bound(group.begin(), group.end(), member_);
  const bool rising =
      std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) == group.end();
  if (!rising || own == group.end() || *own != member_ || group.back() >= member_count_ ||
      all.size() != group.size() * mine.size()) {
    return Status(StatusCode::kInvalidArgument,
                  "member " + std::to_string(member_) + " calls with a group that is not its own");
  }
  auto entry = std::find_if(groups_.begin(), groups_.end(), [&](const Group& known) {
    return std::equal(known.members.begin(), known.members.end(), group.begin(), group.end());
  });
  if (entry == groups_.end()) entry = groups_.insert(entry, {{group.begin(), group.end()}});
  const Call call{group,
                  {HashOf(group), entry->calls++, mine.size()},
                  static_cast<size_t>(own - group.begin()),
                  deadline,
                  entry->succeeded};
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<ptrdiff_t>(call.position * mine.size()));
  const Status gathered = Gather(call, mine, all);
  entry->succeeded = gathered.ok();
  return gathered;
}

Status MessageControl::Gather(const Call& call, std::span<const uint8_t> mine,
                              std::span<uint8_t> all) {
  if (call.position == 0) {
    Status outcome = Collect(call, all);
    if (outcome.ok()) outcome = PassOn(call, all);
    return outcome.ok() ? outcome : TellFailure(call, call.group.subspan(1), outcome);
  }
  RESHARD_RETURN_IF_ERROR(StartSend(call.group[0], kPartTag, call.head, mine));
  return AwaitResult(call, all);
}

Status MessageControl::AwaitResult(const Call& call, std::span<uint8_t> all) {
  const uint32_t root = call.group[0];
  const uint32_t parent = call.group[(call.position - 1) / 2];
  for (;;) {
    // Asked first: all that a member has sent is here when it is lost for receives. The root may
    // have ended when its children have the result, while they still pass it on.
    const bool nobody_left = Lost(parent) && Lost(root);
    // A failure comes from the root itself, so a child of another member listens to both.
    const bool over = Clock::now() >= call.deadline;
    const Deadline soon = Clock::now() + (over ? kLastLook / 2 : std::chrono::milliseconds(1));
    for (uint32_t from : {parent, root}) {
      Status said;
      const StatusOr<bool> here = Receive(call, from, kResultTag, soon, all, &said);
      if (!here.ok()) return here.status();
      if (*here && said.ok()) return Confirm(call, Finish(call, all));
      // The root tells everybody, any other one its own children.
      if (*here) return from == root ? said : TellFailure(call, Children(call), said);
      if (parent == root) break;
    }
    if (!nobody_left && !over) continue;
    // A root that runs tells in time whoever else is missing.
    std::vector<uint32_t> silent = {root};
    if (nobody_left && parent != root) silent.push_back(parent);
    const Status failure(StatusCode::kTimeout, "no answer from " + NamesOf(silent));
    if (nobody_left) return TellFailure(call, Children(call), failure);
    return Confirm(call, failure);
  }
}

}  // namespace

std::unique_ptr<ControlChannel> MakeMessageControl(MessagePort* port) {
  return std::make_unique<MessageControl>(port);
}

}  // namespace reshard
