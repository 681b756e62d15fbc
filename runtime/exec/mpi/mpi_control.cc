#include "runtime/exec/mpi/mpi_control.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/exec/mpi/mpi_support.h"

namespace reshard {
namespace {

constexpr int kPartTag = kControlTag;
constexpr int kResultTag = kControlTag + 1;

// The root gives up early enough to tell the others why.
constexpr int kRootPercent = 80;

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

class MpiControl final : public ControlChannel {
 public:
  explicit MpiControl(MPI_Comm comm) : comm_(comm) {
    int rank = 0;
    int size = 1;
    (void)MPI_Comm_rank(comm, &rank);
    (void)MPI_Comm_size(comm, &size);
    member_ = static_cast<uint32_t>(rank);
    member_count_ = static_cast<uint32_t>(size);
  }
  // A message that has not left may still be read by MPI.
  ~MpiControl() override {
    if (!SendsDone()) new std::list<Sending>(std::move(sends_));
  }

  uint32_t member() const override { return member_; }
  uint32_t member_count() const override { return member_count_; }
  Status AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                   std::span<uint8_t> all, Deadline deadline) override;

 private:
  struct Sending {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<uint8_t> bytes;
  };
  struct Call {
    std::span<const uint32_t> group;
    Head head;
    size_t position = 0;
    Deadline deadline;
  };

  Status StartSend(uint32_t member, int tag, const Head& head, std::span<const uint8_t> body);
  bool SendsDone();
  // A message of this call from `member` with a body of `body_bytes`, or the text of an error.
  // False when the deadline comes first.
  StatusOr<bool> Receive(const Call& call, uint32_t member, int tag, Deadline deadline,
                         std::span<uint8_t> body, Status* said);
  Status Collect(const Call& call, std::span<uint8_t> all);
  Status PassOn(const Call& call, std::span<const uint8_t> all);
  Status TellFailure(const Call& call, const Status& failure);

  const MPI_Comm comm_;
  uint32_t member_ = 0;
  uint32_t member_count_ = 1;
  std::vector<std::pair<std::vector<uint32_t>, uint64_t>> calls_;  // so far, by group
  std::list<Sending> sends_;
  std::vector<uint8_t> buffer_;
};

Status MpiControl::StartSend(uint32_t member, int tag, const Head& head,
                             std::span<const uint8_t> body) {
  (void)SendsDone();
  Sending& sending = sends_.emplace_back();
  sending.bytes.resize(sizeof(head) + body.size());
  std::memcpy(sending.bytes.data(), &head, sizeof(head));
  std::copy(body.begin(), body.end(), sending.bytes.begin() + sizeof(head));
  if (sending.bytes.size() > static_cast<size_t>(kMaxMpiBytes)) {
    return Status(StatusCode::kLimitExceeded, "a control message is too long for MPI");
  }
  return MpiStatus(MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size()), MPI_BYTE,
                             static_cast<int>(member), tag, comm_, &sending.request),
                   "MPI_Isend");
}

bool MpiControl::SendsDone() {
  for (auto sending = sends_.begin(); sending != sends_.end();) {
    const StatusOr<bool> sent = TestRequest(&sending->request, "MPI_Isend");
    sending = sent.ok() && *sent ? sends_.erase(sending) : std::next(sending);
  }
  return sends_.empty();
}

StatusOr<bool> MpiControl::Receive(const Call& call, uint32_t member, int tag, Deadline deadline,
                                   std::span<uint8_t> body, Status* said) {
  IdleWait idle;
  int here = 0;
  MPI_Status status;
  for (;;) {
    RESHARD_RETURN_IF_ERROR(
        MpiStatus(MPI_Iprobe(static_cast<int>(member), tag, comm_, &here, &status), "MPI_Iprobe"));
    if (here != 0) break;
    if (Clock::now() >= deadline) return false;
    (void)SendsDone();
    idle.Pause();
  }
  int count = 0;
  RESHARD_RETURN_IF_ERROR(MpiStatus(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count"));
  buffer_.resize(static_cast<size_t>(count));
  MPI_Request request = MPI_REQUEST_NULL;
  RESHARD_RETURN_IF_ERROR(MpiStatus(
      MPI_Irecv(buffer_.data(), count, MPI_BYTE, static_cast<int>(member), tag, comm_, &request),
      "MPI_Irecv"));
  for (;;) {
    const StatusOr<bool> done = TestRequest(&request, "MPI_Irecv");
    if (!done.ok()) return done.status();
    if (*done) break;
    if (Clock::now() >= deadline) {
      AbandonRequest(&request);
      (void)new std::vector<uint8_t>(std::move(buffer_));
      return false;
    }
    idle.Pause();
  }
  Head head;
  const bool whole = buffer_.size() >= sizeof(head);
  if (whole) std::memcpy(&head, buffer_.data(), sizeof(head));
  const bool same = whole && head.group == call.head.group && head.call == call.head.call &&
                    head.part_bytes == call.head.part_bytes;
  const std::span<const uint8_t> found = std::span(buffer_).subspan(whole ? sizeof(head) : 0);
  if (same && head.failed != 0) {
    *said = Status(StatusCode::kTimeout, std::string(found.begin(), found.end()));
    return true;
  }
  if (!same || found.size() != body.size()) {
    return Status(StatusCode::kCorruptData,
                  "member " + std::to_string(member) + " makes another call than this one");
  }
  std::copy(found.begin(), found.end(), body.begin());
  return true;
}

Status MpiControl::Collect(const Call& call, std::span<uint8_t> all) {
  const Deadline give_up = Clock::now() + (call.deadline - Clock::now()) / 100 * kRootPercent;
  const size_t part_bytes = call.head.part_bytes;
  std::string missing;
  for (size_t m = 1; m < call.group.size(); ++m) {
    Status said;
    const StatusOr<bool> here = Receive(call, call.group[m], kPartTag, give_up,
                                        all.subspan(m * part_bytes, part_bytes), &said);
    if (!here.ok()) return here.status();
    if (!*here) missing += (missing.empty() ? "" : ", ") + std::to_string(call.group[m]);
  }
  if (missing.empty()) return Status();
  return Status(StatusCode::kTimeout, "no answer from member " + missing);
}

Status MpiControl::PassOn(const Call& call, std::span<const uint8_t> all) {
  for (size_t child : {2 * call.position + 1, 2 * call.position + 2}) {
    if (child >= call.group.size()) continue;
    RESHARD_RETURN_IF_ERROR(StartSend(call.group[child], kResultTag, call.head, all));
  }
  // The caller may never come into MPI again, so all has to leave now.
  IdleWait idle;
  while (!SendsDone()) {
    if (Clock::now() >= call.deadline) {
      return Status(StatusCode::kTimeout, "the answer cannot be passed on");
    }
    idle.Pause();
  }
  return Status();
}

Status MpiControl::TellFailure(const Call& call, const Status& failure) {
  Head head = call.head;
  head.failed = 1;
  const std::string& text = failure.message();
  const std::span body(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  for (size_t m = 1; m < call.group.size(); ++m) {
    // Those that wait for the tree take a failure from the root as well.
    (void)StartSend(call.group[m], kResultTag, head, body);
  }
  IdleWait idle;
  while (!SendsDone() && Clock::now() < call.deadline) idle.Pause();
  return failure;
}

Status MpiControl::AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                             std::span<uint8_t> all, Deadline deadline) {
  const auto own = std::lower_bound(group.begin(), group.end(), member_);
  const bool rising =
      std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) == group.end();
  if (!rising || own == group.end() || *own != member_ || group.back() >= member_count_ ||
      all.size() != group.size() * mine.size()) {
    return Status(StatusCode::kInvalidArgument,
                  "member " + std::to_string(member_) + " calls with a group that is not its own");
  }
  const std::vector<uint32_t> members(group.begin(), group.end());
  auto counter = std::find_if(calls_.begin(), calls_.end(),
                              [&](const auto& entry) { return entry.first == members; });
  if (counter == calls_.end()) counter = calls_.insert(counter, {members, 0});
  Call call{group,
            {HashOf(group), counter->second++, mine.size()},
            static_cast<size_t>(own - group.begin()),
            deadline};
  std::copy(mine.begin(), mine.end(),
            all.begin() + static_cast<ptrdiff_t>(call.position * mine.size()));
  if (call.position == 0) {
    Status collected = Collect(call, all);
    if (!collected.ok()) return TellFailure(call, collected);
    return PassOn(call, all);
  }
  RESHARD_RETURN_IF_ERROR(StartSend(group[0], kPartTag, call.head, mine));
  Status said;
  // A failure comes from the root itself, so a child of another member listens to both.
  const uint32_t parent = group[(call.position - 1) / 2];
  for (;;) {
    const Deadline soon = std::min(deadline, Clock::now() + std::chrono::milliseconds(1));
    for (uint32_t from : {parent, group[0]}) {
      const StatusOr<bool> here = Receive(call, from, kResultTag, soon, all, &said);
      if (!here.ok()) return here.status();
      if (*here) return said.ok() ? PassOn(call, all) : said;
      if (parent == group[0]) break;
    }
    if (Clock::now() >= deadline) break;
  }
  return Status(StatusCode::kTimeout,
                "no answer from member " + std::to_string(group[0]) +
                    (parent == group[0] ? "" : " or " + std::to_string(parent)));
}

}  // namespace

std::unique_ptr<ControlChannel> MakeMpiControl(MPI_Comm comm) {
  return std::make_unique<MpiControl>(comm);
}

}  // namespace reshard
