// The loopback backend: all ranks of a job are in one process, each on a thread of its own.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_BACKEND_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/exec/backend.h"

namespace reshard {

// A group of members in this process.
class LoopbackGroup {
 public:
  // `pace` 0: as fast as memory is. Else the ports of a plan's topology carry 1 / pace of their
  // rate (pacer.h).
  explicit LoopbackGroup(uint32_t member_count, double pace = 0);

  // Of each member. They live on their own, in any order of destruction. Any number of executors
  // may be made of them, one after the other on every member in the same order.
  const std::vector<std::shared_ptr<Backend>>& backends() const { return backends_; }
  // Of the executors made last: what failed first, with the name of the rank; ok when nothing did.
  Status failure() const;

 private:
  class Worlds;
  class Member;
  std::shared_ptr<Worlds> worlds_;
  std::vector<std::shared_ptr<Backend>> backends_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_BACKEND_H_
