// Backend: how bytes move between ranks. One interface, one folder per implementation.
//
// An Executor owns the program of one rank and its bindings; the backend gives it an arena, network
// messages and reads of a domain neighbour's arena. All calls for one rank come from one thread.
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

  // Starts to send `extent` bytes at `arena_offset` to `peer` as its message of `round`. The bytes
  // stay untouched until FinishRound of that round returns.
  virtual Status Send(uint32_t peer, uint32_t round, int64_t arena_offset, int64_t extent) = 0;
  // Starts to receive the message of (peer, round). At most one exists per (peer, round).
  virtual Status Receive(uint32_t peer, uint32_t round, int64_t arena_offset, int64_t extent) = 0;
  // Waits for every Send and Receive of `round`.
  virtual Status FinishRound(uint32_t round, Deadline deadline) = 0;

  // The slices this rank received in `round` may now be read by its domain.
  virtual Status PublishRound(uint32_t round) = 0;
  // Waits until `lander` has published `round`; returns its arena. Readable until ReleaseRound.
  virtual StatusOr<const uint8_t*> AwaitPublished(uint32_t lander, uint32_t round,
                                                  Deadline deadline) = 0;
  // This rank has finished reading what `lander` published in `round`.
  virtual Status ReleaseRound(uint32_t lander, uint32_t round) = 0;
  // Waits until `reader_count` neighbours (this rank included when it reads) have released this
  // rank's `round`: its slot may be received into again.
  virtual Status AwaitReleased(uint32_t round, uint32_t reader_count, Deadline deadline) = 0;

  // Every rank reached this point of execution `generation`.
  virtual Status Barrier(uint64_t generation, Deadline deadline) = 0;
  // Tells every rank to stop waiting; their calls return an error that names this rank.
  virtual void Abort(const Status& reason) = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_BACKEND_H_
