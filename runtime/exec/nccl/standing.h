// Standing: how far a rank has come, for finding out whom all wait for.
//
// NCCL cannot tell who is missing. After a timeout the ranks that are left compare their round
// counters over the control channel.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_STANDING_H_
#define RESHARD_RUNTIME_EXEC_NCCL_STANDING_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/control.h"

namespace reshard::nccl {

// "rank 3", "ranks 1, 2 and 9 more"; each once, rising.
std::string RanksText(std::vector<uint32_t> ranks);

struct Standing {
  uint64_t execution = 0;
  uint64_t round = 0;
};

// Who does not answer, or who is furthest behind, as the end of an error text: "; rank 3 is
// furthest behind, in round 5 of execution 0". Empty when that is this rank. Every rank that gives
// up calls it at about the same time.
std::string BlameText(ControlChannel* control, std::span<const uint32_t> ranks_of_members,
                      const Standing& mine, Deadline deadline);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_STANDING_H_
