// Pacer: how long bytes take through the ports of a plan's topology, in real time.
//
// Every direction of a NIC, of a GPU's way to its NICs, of its port into its domain, of a group's
// uplinks, and a shared switch, is a bucket that fills with tokens at the port's rate and is empty
// whenever bytes wait. A transfer takes what it needs from all buckets that it passes, each in the
// order in which transfers come to it, and has arrived when the last of them has paid. What is
// inside a rank is as fast as this machine's memory.
//
// Ranks keep a PacedClock each: the time at which, as far as the ports are concerned, it was ready
// for its next step. A delay of this machine shorter than kForgiven does not count, a longer one
// does; the ports themselves are never outrun.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_PACER_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_PACER_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

class Pacer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Ports carry 1 / `slowdown` of their rate. `plan` has passed the bounds rules.
  Pacer(const Plan& plan, double slowdown);

  // When bytes that could go from `ready` on have passed all ports. Ranks are indices into
  // plan.ranks. Thread-safe; allocates nothing.
  Time Message(size_t src, size_t dst, int64_t bytes, Time ready);
  Time Copy(size_t lander, size_t reader, int64_t bytes, Time ready);

 private:
  struct Port {
    double ns_per_byte = 0;
    Time free{};  // it has paid for everything before
  };
  struct Use {
    uint32_t port = 0;
    double part = 1;  // of the bytes
  };
  struct Direction {
    std::vector<Use> network;  // NICs, and the way to them
    std::vector<Use> uplink;   // when the other end is in another group
    std::vector<Use> scaleup;
  };
  struct Rank {
    uint32_t domain = 0;
    uint32_t group = 0;
    Direction out, in;
  };

  uint32_t AddPort(int64_t bytes_per_s);
  Time Pass(const std::vector<Use>& uses, int64_t bytes, Time ready);

  const double slowdown_;
  std::mutex mutex_;
  std::vector<Port> ports_;  // `free` is guarded by mutex_
  std::vector<Use> fabric_;
  std::vector<Rank> ranks_;
};

class PacedClock {
 public:
  using Time = Pacer::Time;
  static constexpr std::chrono::milliseconds kForgiven{5};

  // Ready for the next step at this moment: when it would have been without delays of the machine.
  Time Ready() {
    const Time now = std::chrono::steady_clock::now();
    if (now - time_ >= kForgiven) time_ = now;
    return time_;
  }
  // What happened at `time` was waited for.
  void Reach(Time time) { time_ = std::max(time_, time); }
  Time time() const { return time_; }

 private:
  Time time_{};
};

// The times of the last few steps that a rank published, for other threads.
class StepTimes {
 public:
  void Set(uint64_t step, Pacer::Time time) {
    times_[step % kKept].store(time.time_since_epoch().count(), std::memory_order_release);
  }
  Pacer::Time Get(uint64_t step) const {
    return Pacer::Time(Pacer::Time::duration(times_[step % kKept].load(std::memory_order_acquire)));
  }

 private:
  static constexpr size_t kKept = 8;  // more than a lander can be ahead of its readers
  std::array<std::atomic<Pacer::Time::rep>, kKept> times_{};
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_PACER_H_
