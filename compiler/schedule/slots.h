// Slots: the staging memory that a schedule takes on each rank.
#ifndef RESHARD_COMPILER_SCHEDULE_SLOTS_H_
#define RESHARD_COMPILER_SCHEDULE_SLOTS_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/topology.h"
#include "compiler/route/ports.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/slices.h"

namespace reshard {

// What each rank receives and packs at most in one round. Ranks that do neither are left out.
std::vector<RankSlots> FindSlots(const Topology& topology, const Ports& ports,
                                 const std::vector<ScheduledTree>& trees);

inline int64_t StagingBytes(const RankSlots& slots) {
  return kRecvSlots * slots.recv_slot_bytes + kPackSlots * slots.pack_slot_bytes;
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_SLOTS_H_
