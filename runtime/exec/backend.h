// Backend: how bytes move between ranks. One interface, one folder per implementation.
//
// A caller makes one Backend per rank and hands it to an executor, which agrees with all other
// ranks over its control channel and then takes an engine from it. A backend of host memory
// implements RankTransport and lets HostEngine do the rest: an arena, network messages and reads of
// a domain neighbour's arena. All calls for one rank come from one thread at a time, and nothing
// here needs a thread per rank.
//
// Time is counted in steps: round r of execution e is step e * rounds + r + 1, so that a step only
// grows over the life of a transport and a signal of an earlier execution never passes for one of
// this. Step 0 is "nothing yet". No call waits past its deadline or after an Abort of any rank, and
// none allocates memory once the transport is made.
#ifndef RESHARD_RUNTIME_EXEC_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_BACKEND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/control.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/program.h"

namespace reshard {

class ExecutionEngine;
class ExecutionRecord;
struct PreparedProgram;

// What one rank sees of the transport. Offsets are bytes in arenas as ExpandProgram gives them.
class RankTransport {
 public:
  virtual ~RankTransport() = default;

  // This rank's arena; valid until the transport is destroyed.
  virtual uint8_t* arena() = 0;
  virtual int64_t arena_bytes() const = 0;

  // Starts to send `extent` bytes at `arena_offset` to `peer` as its message of `step`. The bytes
  // stay untouched until FinishStep of that step returns.
  virtual Status Send(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) = 0;
  // Starts to receive the message of (peer, step). At most one exists per (peer, step).
  virtual Status Receive(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) = 0;
  // A Receive with these arguments will follow, and the bytes at `arena_offset` are free already:
  // a transport may let the peer begin. Nothing waits for the message before its Receive.
  virtual Status ExpectReceive(uint32_t peer, uint64_t step, int64_t arena_offset, int64_t extent) {
    (void)peer, (void)step, (void)arena_offset, (void)extent;
    return Status();
  }
  // Moves on what has been started. Called between copies, for transports that move bytes only
  // while they are called.
  virtual Status Progress() { return Status(); }
  // Waits for every Send and Receive of `step`. Tells `record`, unless null, whom it waited for and
  // how long (ExecutionRecord::AddWait).
  virtual Status FinishStep(uint64_t step, Deadline deadline, ExecutionRecord* record) = 0;

  // What this rank landed in its receive slots in all steps up to `step` may be read by its domain.
  virtual Status PublishLanded(uint64_t step) = 0;
  // Waits until `lander`, another rank of the domain, has published `step`; returns its arena. What
  // it landed in `step` stays until this rank publishes its reads of that step.
  virtual StatusOr<const uint8_t*> AwaitLanded(uint32_t lander, uint64_t step,
                                               Deadline deadline) = 0;
  // This rank has copied `bytes` of what `lander` landed. For transports that model time.
  virtual void NoteRead(uint32_t lander, int64_t bytes) { (void)lander, (void)bytes; }
  // This rank has finished all its reads of what any rank of its domain landed up to `step`.
  virtual Status PublishReads(uint64_t step) = 0;
  // Waits until `reader`, another rank of the domain, has published its reads of `step`.
  virtual Status AwaitReads(uint32_t reader, uint64_t step, Deadline deadline) = 0;

  // Waits, at the end of an execution, until all that other ranks still need of this one has left:
  // afterwards nobody may call the transport for a long time.
  virtual Status FinishExecution(Deadline deadline) {
    (void)deadline;
    return Status();
  }

  // Tells every rank to stop waiting; their calls return an error that names this rank. From any
  // thread; a transport that only one thread may use does so at its next call.
  virtual void Abort(const Status& reason) = 0;
  // Such a call, without any other purpose: tells of an Abort that has not been told.
  virtual void TellAbort() {}
};

// What an engine is made for. Everything outlives the engine.
struct EngineSpec {
  const Plan* plan = nullptr;
  const ProgramIndex* index = nullptr;
  uint32_t rank = 0;
  int64_t arena_bytes = 0;                     // staging memory of this rank, as the plan says
  PreparedProgram* program = nullptr;          // with all addresses; Peers() is whom it talks to
  std::span<const uint32_t> ranks_of_members;  // which rank of the plan each control member is
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const = 0;  // "loopback"
  // Where params have to lie: kHostDevice, or the number of a CUDA device.
  virtual int32_t device() const { return kHostDevice; }
  // True: everything happens inside the caller's calls, an execution inside wait. False: it runs on
  // a thread of the executor's own while the caller does something else.
  virtual bool needs_callers_thread() const { return false; }
  // Error on a thread that must not use the backend.
  virtual Status CheckThread() const { return Status(); }

  virtual ControlChannel* control() = 0;

  // A backend serves one executor at a time, from its first Prepare on. False: another one has it.
  bool Claim(const void* executor) {
    const void* nobody = nullptr;
    return user_.compare_exchange_strong(nobody, executor) || nobody == executor;
  }
  void Release(const void* executor) { (void)user_.compare_exchange_strong(executor, nullptr); }

  // Connects this rank. Called once per executor by every rank of the plan at the same time, after
  // all have agreed on the plan and its ranks. Allocates the arena and warms connections up.
  virtual StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                                  Deadline deadline) = 0;

 private:
  std::atomic<const void*> user_{nullptr};
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_BACKEND_H_
