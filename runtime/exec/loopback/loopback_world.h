// LoopbackWorld: the transport between ranks that are threads of one process.
//
// A send is a rendezvous: the sender posts where its bytes are, the receiver copies them into its
// own arena and acknowledges. So a receiver takes bytes only when its slot is free, and a sender
// packs anew only when they were taken. Waiting is on condition variables, never a spin: hundreds
// of ranks share a few cores.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_WORLD_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_WORLD_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/loopback/pacer.h"

namespace reshard {

struct LoopbackRank {
  uint32_t rank = 0;
  int64_t arena_bytes = 0;
};

class LoopbackWorld {
 public:
  // `ranks` rise by rank. Error when the arenas cannot be allocated. With a pacer, which has as
  // many ranks, bytes arrive no sooner than it says.
  static StatusOr<std::unique_ptr<LoopbackWorld>> Create(std::span<const LoopbackRank> ranks,
                                                         std::unique_ptr<Pacer> pacer = nullptr);
  ~LoopbackWorld();

  // Of the rank at `index` of the span given to Create.
  RankTransport* transport(size_t index);
  // The first Abort; ok when there was none. Its message names the rank.
  Status failure() const;
  int64_t max_arena_bytes() const;

 private:
  class Rank;
  struct Shared;
  LoopbackWorld();
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_LOOPBACK_WORLD_H_
