// Slices: the bytes of each tree cut into what one round brings to its head.
#ifndef RESHARD_COMPILER_SCHEDULE_SLICES_H_
#define RESHARD_COMPILER_SCHEDULE_SLICES_H_

#include <cstdint>
#include <vector>

#include "compiler/route/class_cuts.h"
#include "compiler/route/ports.h"
#include "compiler/route/routing.h"
#include "runtime/plan/plan.h"

namespace reshard {

// Sources of a slice, where they bring enough: each is one more message that a NIC receives at
// once.
inline constexpr uint32_t kFewSourcesPerSlice = 4;

// What a slice or message takes of its slot.
inline int64_t AlignedToSlot(int64_t bytes) {
  return (bytes + kSlotAlignBytes - 1) / kSlotAlignBytes * kSlotAlignBytes;
}

// Bytes [begin, begin + extent) of a stream.
struct SourceRun {
  int64_t begin = 0;
  int64_t extent = 0;
  Rank source = 0;
};

// Some runs of one tree, adjacent in the stream, with different sources.
struct DraftSlice {
  uint32_t first_portion = 0;
  uint32_t portion_count = 0;
  int64_t extent = 0;
};

struct ScheduledTree {
  uint32_t stream = 0;
  PlanTreeKind kind = PlanTreeKind::kChain;
  std::vector<Rank> members;
  bool local = false;
  bool carried = false;  // the head gets it inside its domain, and no NIC is busy with that
  int64_t bytes = 0;
  std::vector<SourceRun> runs;      // cover the stream in its order; neighbours differ in source
  std::vector<DraftSlice> slices;   // in stream order
  std::vector<SourceRun> portions;  // of the slices: each becomes one inject
  std::vector<uint32_t> rounds;     // of the slices; all different
};

// Is the head a carrier, which sends the tree's bytes on?
inline bool IsPassedOnByCarrier(const ScheduledTree& tree) {
  return tree.carried && tree.members.size() > 1;
}

// The trees of all streams in order, with their runs.
std::vector<ScheduledTree> MakeTrees(const Routing& routing, const Ports& ports);

struct SliceLimits {
  uint32_t sources = kFewSourcesPerSlice;  // of a slice
  // Large parts of one source fill slices of their own: what a source has left beside its part of
  // another's slice would find no use where it has no time to spare.
  bool own_slices = false;
  std::vector<int64_t> slice_bytes;      // per stream
  std::vector<int64_t> portion_bytes;    // per site: what it can send in a round
  std::vector<int64_t> hand_over_bytes;  // per site: the same inside its domain
};

// Cuts every tree's runs into slices of at most about slice_bytes from at most
// limits.sources different sources.
void CutSlices(const Routing& routing, const ClassCuts& cuts, const Ports& ports,
               const SliceLimits& limits, std::vector<ScheduledTree>* trees);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_SLICES_H_
