// ControlChannel: a few bytes between the ranks of a job, beside the weights.
//
// Ranks agree over it on the plan before the first byte moves, say whether they are ready, and
// compare generations when they commit. It is slow and rare: nothing of an execution waits for it.
// Members are numbered from 0; which rank of a plan a member is, it says itself (agree.h). One
// thread at a time per member.
#ifndef RESHARD_RUNTIME_EXEC_CONTROL_H_
#define RESHARD_RUNTIME_EXEC_CONTROL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reshard {

using Deadline = std::chrono::steady_clock::time_point;

// `timeout` from now; never, when that cannot be counted.
inline Deadline DeadlineIn(std::chrono::nanoseconds timeout) {
  const Deadline now = std::chrono::steady_clock::now();
  return timeout < Deadline::max() - now ? now + timeout : Deadline::max();
}

class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  virtual uint32_t member() const = 0;  // this one, below member_count()
  virtual uint32_t member_count() const = 0;

  // Every member of `group` calls it with the same group, rising and with this member in it, and
  // as many bytes in `mine`; each gets what all passed, in the order of the group, in `all`, which
  // has group.size() * mine.size() bytes. Calls of different groups may overlap in time; calls of
  // one group are matched by their order. Past the deadline: kTimeout, and the message names the
  // members that are missing, as far as they can be known. A call that only some members make
  // leaves the channel out of step, which a later call finds (kAborted) and only another channel
  // mends.
  virtual Status AllGather(std::span<const uint32_t> group, std::span<const uint8_t> mine,
                           std::span<uint8_t> all, Deadline deadline) = 0;

  // Which rank of the plan each member is, once that is known: errors then name ranks.
  void SetRanks(std::span<const uint32_t> ranks) { ranks_.assign(ranks.begin(), ranks.end()); }

 protected:
  // "member 3", or "ranks 7, 9".
  std::string NamesOf(std::span<const uint32_t> members) const {
    std::string names = ranks_.empty() ? "member" : "rank";
    if (members.size() > 1) names += 's';
    for (size_t m = 0; m < members.size(); ++m) {
      const uint32_t name = members[m] < ranks_.size() ? ranks_[members[m]] : members[m];
      names += (m == 0 ? " " : ", ") + std::to_string(name);
    }
    return names;
  }

  // What `member` said is no answer to the call of this one.
  Status OutOfStep(uint32_t member) const {
    return Status(StatusCode::kAborted,
                  NamesOf({&member, 1}) +
                      " makes another call than this rank, as when only some "
                      "ranks call commit after a failure: go on with executors "
                      "on new backends");
  }

 private:
  std::vector<uint32_t> ranks_;  // by member
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_CONTROL_H_
