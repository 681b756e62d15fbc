// Watchdog: ends a call that may block for ever, from another thread.
//
// For communicators that the caller lends, which may be of the kind whose calls block. One thread
// that sleeps; arming it allocates nothing. Armed and disarmed by one thread.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_WATCHDOG_H_
#define RESHARD_RUNTIME_EXEC_NCCL_WATCHDOG_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/exec/control.h"

namespace reshard::nccl {

class Watchdog {
 public:
  // `bite` makes the blocked call return; it is called at most once.
  explicit Watchdog(std::function<void()> bite);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Bites at `deadline`, unless it is disarmed before.
  void Arm(Deadline deadline);
  // Whether it has bitten. What the bite did happened before.
  bool Disarm();

 private:
  void Run();

  const std::function<void()> bite_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Deadline> deadline_;
  bool bitten_ = false;
  bool closing_ = false;
  std::thread thread_;  // last: it starts when all the rest is there
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_WATCHDOG_H_
