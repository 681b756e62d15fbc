#include "runtime/exec/messages/idle_wait.h"

#include <sched.h>

#include <chrono>
#include <thread>

namespace reshard {
namespace {

constexpr uint32_t kYields = 20;
constexpr std::chrono::microseconds kNap{20};

}  // namespace

void IdleWait::Pause() {
  if (idle_calls_ < kYields) {
    ++idle_calls_;
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(kNap);
}

}  // namespace reshard
