// DeviceEngine: executes the program of one rank on a GPU, with NCCL between domains.
//
// Two streams: groups of NCCL on one, packs and copies on the other, tied by events, so that the
// network of round r, the copies of round r - 1 and the packing of round r + 1 run at the same
// time. Inside a direct domain flags in device memory take the place of messages: a wait kernel
// holds the copy stream until a lander has landed, or until neighbours have read a slot. The host
// only launches, a few rounds ahead, and watches: when no round ends within the timeout it stops
// the communicator and the wait kernels, compares round counters with the other ranks over the
// control channel, and says who is behind.
//
// Order on the copy stream, which makes all waits go to earlier rounds: (messages of round r - 1)
// publish what they landed, await landers of r - 1, copy out, publish the reads, await the slot of
// r + 1, pack r + 1. Execution allocates nothing.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DEVICE_ENGINE_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DEVICE_ENGINE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/exec/backend.h"
#include "runtime/exec/engine.h"
#include "runtime/exec/nccl/communicator.h"
#include "runtime/exec/nccl/device_program.h"
#include "runtime/exec/nccl/domain_link.h"
#include "runtime/exec/nccl/gpu_runtime.h"

namespace reshard::nccl {

struct DeviceEngineSpec {
  GpuRuntime* gpu = nullptr;
  Communicator* comm = nullptr;
  ControlChannel* control = nullptr;
  DomainPath path = DomainPath::kAuto;
  Tuning tuning;
};

class DeviceEngine final : public ExecutionEngine {
 public:
  // Collective over all ranks of the plan; connects to every peer of the program.
  static StatusOr<std::unique_ptr<DeviceEngine>> Make(const DeviceEngineSpec& spec,
                                                      const EngineSpec& engine, Deadline deadline);
  ~DeviceEngine() override;

  Status SetProgram(PreparedProgram* program) override;
  Status Begin(void* stream) override;
  Status Execute(const ExecuteOptions& options, ExecutionRecord* record) override;
  void Abort(const Status& reason) override;
  Status CopyToHost(const uint8_t* from, std::span<uint8_t> to) override;
  // With what lies beside the arena for a domain that goes through NCCL.
  int64_t arena_bytes() const override { return link_->arena_bytes() + program_->bounce_bytes(); }

 private:
  // The host issues so many rounds before the oldest is over.
  static constexpr size_t kRoundsAhead = 3;
  static constexpr size_t kEventSets = kRoundsAhead + 2;
  struct RoundEvents {
    EventHandle pack_begin = nullptr, packed = nullptr;
    EventHandle net_begin = nullptr, net_end = nullptr;
    EventHandle copy_begin = nullptr, copied = nullptr;
  };

  DeviceEngine(const DeviceEngineSpec& spec, const EngineSpec& engine);
  Status CreateStreams();
  Status CheckMemory(const PreparedProgram& program);
  Status Connect(Deadline deadline);

  Status AwaitCaller();
  Status RunRounds(ExecutionRecord* record);
  Status Start();
  Status Issue(size_t i);
  Status IssueGroups(const DeviceRound& round);
  Status IssueGroup(const MessageRange& group);
  Status PublishLandedBefore(size_t i);
  Status CopyOut(size_t i);
  Status Pack(size_t i);
  Status AwaitOldest(ExecutionRecord* record);
  Status AwaitEnd();
  // Calls `done` until it says so, an error comes up or nothing ends within the timeout.
  template <class Done>
  Status Poll(Done done);
  Status CheckStopped() const;
  Status Report(size_t i, ExecutionRecord* record);
  Status ReportSpan(ExecStage stage, const DeviceRound& round, uint32_t peer, int64_t bytes,
                    EventHandle begin, EventHandle end, ExecutionRecord* record);
  Status Fail(const Status& status);
  void StopDevice();
  Status Explain(const Status& status);
  // Whom the oldest round that is not over waits for, and in which way.
  Status StalledStatus();
  Status FlagsStatus(uint64_t* (DomainLink::*flag)(size_t) const, uint64_t value,
                     const std::string& what);
  uint64_t OldestRound() const;

  uint64_t StepOf(uint32_t round) const { return base_step_ + round + 1; }
  uint64_t LastStep() const { return base_step_ + program_->round_count(); }
  RoundEvents& events(size_t i) { return events_[i % kEventSets]; }

  const DeviceEngineSpec spec_;
  const Plan& plan_;
  const std::vector<uint32_t> ranks_of_members_;
  std::vector<uint32_t> neighbours_;
  std::vector<DomainRead> reads_of_others_;
  std::unique_ptr<DomainLink> link_;
  std::unique_ptr<DeviceProgram> program_;
  StreamHandle network_ = nullptr;
  StreamHandle copies_ = nullptr;
  std::array<RoundEvents, kEventSets> events_;
  EventHandle caller_ready_ = nullptr;
  EventHandle start_ = nullptr;
  std::array<EventHandle, 2> finished_{};  // of the two streams
  SharedWord stop_;
  bool drained_ = true;  // false: the device may still use our memory
  uint64_t execution_count_ = 0;
  Status failure_;
  std::atomic<bool> aborted_{false};
  mutable std::mutex abort_mutex_;
  Status abort_reason_;

  // Of the execution that runs.
  uint64_t base_step_ = 0;
  size_t issued_ = 0;
  size_t completed_ = 0;
  size_t published_ = 0;  // rounds whose landings are published
  std::chrono::nanoseconds timeout_{0};
  std::chrono::steady_clock::time_point progress_{};  // when a round ended last
  std::chrono::steady_clock::time_point start_time_{};
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DEVICE_ENGINE_H_
