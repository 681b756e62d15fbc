#include "runtime/exec/nccl/watchdog.h"

#include <utility>

namespace reshard::nccl {

Watchdog::Watchdog(std::function<void()> bite)
    : bite_(std::move(bite)), thread_([this] { Run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::Arm(Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    deadline_ = deadline;
  }
  changed_.notify_all();
}

bool Watchdog::Disarm() {
  const std::lock_guard lock(mutex_);
  deadline_.reset();
  return bitten_;
}

void Watchdog::Run() {
  std::unique_lock lock(mutex_);
  while (!closing_ && !bitten_) {
    if (!deadline_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() < *deadline_) {
      changed_.wait_until(lock, *deadline_);
    } else {
      // With the mutex held: who disarms waits until the bite is over.
      bite_();
      bitten_ = true;
    }
  }
}

}  // namespace reshard::nccl
