// Backend: how bytes move between ranks. One interface, one folder per implementation.
//
// An Executor owns the program of one rank and its bindings; the backend gives it an arena, network
// messages and reads of a domain neighbour's arena. All calls for one rank come from one thread at
// a time, and nothing here needs a thread per rank.
//
// Time is counted in steps: round r of execution e is step e * rounds + r + 1, so that a step only
// grows over the life of a transport and a signal of an earlier execution never passes for one of
// this. Step 0 is "nothing yet". No call waits past its deadline or after an Abort of any rank, and
// none allocates memory once the transport is made.
#ifndef RESHARD_RUNTIME_EXEC_BACKEND_H_
#define RESHARD_RUNTIME_EXEC_BACKEND_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"

namespace reshard {

using Deadline = std::chrono::steady_clock::time_point;

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
  // Waits for every Send and Receive of `step`.
  virtual Status FinishStep(uint64_t step, Deadline deadline) = 0;

  // What this rank landed in its receive slots in all steps up to `step` may be read by its domain.
  virtual Status PublishLanded(uint64_t step) = 0;
  // Waits until `lander`, another rank of the domain, has published `step`; returns its arena. What
  // it landed in `step` stays until this rank publishes its reads of that step.
  virtual StatusOr<const uint8_t*> AwaitLanded(uint32_t lander, uint64_t step,
                                               Deadline deadline) = 0;
  // This rank has finished all its reads of what any rank of its domain landed up to `step`.
  virtual Status PublishReads(uint64_t step) = 0;
  // Waits until `reader`, another rank of the domain, has published its reads of `step`.
  virtual Status AwaitReads(uint32_t reader, uint64_t step, Deadline deadline) = 0;

  // Tells every rank to stop waiting; their calls return an error that names this rank.
  virtual void Abort(const Status& reason) = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_BACKEND_H_
