// Rounds: which slice of each tree moves when.
//
// A greedy open shop: in every round each tree takes one slice, of those whose sources have room
// the one whose source has most left to send. Where nobody has time to spare, trees and sources are
// matched first. Rounds in which a port would be busy for longer than
// its share are avoided, not forbidden where a single message does it.
#ifndef RESHARD_COMPILER_SCHEDULE_ROUNDS_H_
#define RESHARD_COMPILER_SCHEDULE_ROUNDS_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/ports.h"
#include "compiler/schedule/slices.h"

namespace reshard {

struct RoundLimits {
  // Per port: what sources should send through it in a round, and it should receive, where nothing
  // is passed on.
  std::vector<int64_t> port_bytes;
  bool flat = false;                // nothing is passed on from domain to domain
  bool tight = false;               // and senders are about as busy as receivers
  std::vector<int64_t> pack_bytes;  // per site: what it can pack in a round
  std::vector<int64_t> recv_bytes;  // per site: what it should receive in a round
  int64_t rounds = 1;               // in which slices should start
};

// Fills ScheduledTree::rounds. Every slice alone fits `pack_bytes` and `recv_bytes`.
void AssignRounds(const Topology& topology, const Ports& ports, const RoundLimits& limits,
                  std::vector<ScheduledTree>* trees);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_ROUNDS_H_
