// Tuning: sizes that the NCCL backend decides by. Tests set them to reach every path with little
// data.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_TUNING_H_
#define RESHARD_RUNTIME_EXEC_NCCL_TUNING_H_

#include <cstdint>

namespace reshard::nccl {

struct Tuning {
  // Operations of one group of NCCL, beyond which NCCL may cut it at places that differ by rank.
  uint32_t group_operations = 56;
  // Distances between ranks that share a group, where there are more.
  uint32_t phase_ranks = 16;
  // From this size on a message that lies in one piece is not packed.
  int64_t zero_copy_bytes = 256 * 1024;
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_TUNING_H_
