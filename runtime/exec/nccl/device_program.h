// DeviceProgram: the prepared program of one rank, as launches and messages of a device.
//
// Each round has the tiles to pack, groups of messages, and the tiles to copy out. All addresses
// are final and all tables lie on the device, so that a round costs its launches and nothing else.
// A message whose bytes lie together in one param, and are many, is sent from there and not packed.
//
// Where the domain is direct, a round copies out of the receive slots of other ranks. Where it is
// not, what a rank landed in round r - 1 is sent on in a group of round r, the reader receives it
// beside its arena (two slots, or straight into a param) and copies it out in round r + 1.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DEVICE_PROGRAM_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DEVICE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/nccl/copy_table.h"
#include "runtime/exec/nccl/domain_link.h"
#include "runtime/exec/nccl/domain_reads.h"
#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/prepared_program.h"

namespace reshard::nccl {

struct DeviceMessage {
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  uint32_t rank = 0;  // of the plan
  int32_t peer = 0;   // the same in the communicator
  bool send = false;
};

struct DeviceRound {
  uint32_t round = 0;
  TileRange packs;
  uint32_t first_group = 0, group_end = 0;  // in groups
  TileRange copies;
  int64_t packed_bytes = 0;
  int64_t copied_bytes = 0;
  // Only in a direct domain.
  bool lands = false;
  bool reads = false;
  uint32_t slot_free_below = 0;  // as in PreparedRound
  uint32_t reads_done_below = 0;
  FlagList landers;  // flags that have to reach the round before
  // So many rounds of the prepared program have written their params after this one.
  uint32_t rounds_copied = 0;
};

// Messages [first, end) that are one group.
struct MessageRange {
  uint32_t first = 0;
  uint32_t end = 0;
};

class DeviceProgram {
 public:
  // `link` outlives it, and so do the params.
  static StatusOr<std::unique_ptr<DeviceProgram>> Make(GpuRuntime* gpu, const DomainLink& link,
                                                       const PreparedProgram& program,
                                                       std::span<const DomainRead> reads_of_others);

  uint32_t round_count() const { return round_count_; }
  uint32_t reads_begin() const { return reads_begin_; }
  std::span<const DeviceRound> rounds() const { return rounds_; }
  std::span<const MessageRange> groups() const { return groups_; }
  std::span<const DeviceMessage> messages(const MessageRange& group) const {
    return std::span(messages_).subspan(group.first, group.end - group.first);
  }
  const CopyTables& tables() const { return table_.tables(); }
  TileRange zeros() const { return zeros_; }
  // Empty unless direct. Flags of the other ranks of the domain that this rank raises, and its own
  // ones that say what they have read.
  const FlagList& landed_signals() const { return landed_signals_; }
  const FlagList& reads_signals() const { return reads_signals_; }
  const FlagList& reads_flags() const { return reads_flags_; }
  // Memory beside the arena for what comes through NCCL inside the domain.
  int64_t bounce_bytes() const { return bounce_.bytes(); }

 private:
  friend class DeviceProgramBuilder;
  uint32_t round_count_ = 0;
  uint32_t reads_begin_ = 0;
  std::vector<DeviceRound> rounds_;
  std::vector<MessageRange> groups_;
  std::vector<DeviceMessage> messages_;
  CopyTable table_;
  TileRange zeros_;
  DeviceBlock flag_lists_;
  DeviceBlock bounce_;
  FlagList landed_signals_, reads_signals_, reads_flags_;
};

// The most operations of one round: messages of the network, and what the domain adds to them when
// it goes through NCCL.
struct OperationCounts {
  uint32_t network = 0;
  uint32_t domain = 0;
};
OperationCounts CountOperations(const PreparedProgram& program,
                                std::span<const DomainRead> reads_of_others);

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DEVICE_PROGRAM_H_
