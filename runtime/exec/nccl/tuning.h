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

// Network channels that two ranks need to use a NIC of this rate in full: one carries about 14
// GB/s, and NCCL has powers of two of them.
constexpr int32_t ChannelsPerPeer(int64_t nic_bytes_per_s) {
  constexpr int64_t kChannelBytesPerSecond = 14'000'000'000;
  constexpr int32_t kMaxChannels = 32;
  int32_t channels = 1;
  while (channels < kMaxChannels && channels * kChannelBytesPerSecond < nic_bytes_per_s) {
    channels *= 2;
  }
  return channels;
}

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_TUNING_H_
