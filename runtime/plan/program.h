// ExpandProgram: what one rank does, round by round. This function DEFINES the plan format: the
// verifier proves its result right and every executor runs its result.
//
// In round r a rank
//   1. packs each inject it sends in r into pack slot r % kPackSlots (or, when it is itself the
//      head, straight into its receive slot);
//   2. sends those messages, forwards to its children the slices it received in round r - 1, and
//      receives this round's slices into receive slot r % kRecvSlots;
//   3. copies out of the slices that landers of its domain (itself included) received in round r
//      whatever it needs, into its params: one operation per slice and run of adjacent pieces whose
//      classes it needs.
// Step 3 of round r must be over, on every rank of the domain, before the lander receives in round
// r + kRecvSlots. Slices of one rank and round lie in its slot in the order of their trees,
// messages in the pack slot likewise, each offset rounded up to kSlotAlignBytes. A slice enters its
// tree at the round R of its injects; position p receives it in round R + TreeDepth(kind, p) from
// position TreeParent(kind, p). An arena is kRecvSlots receive slots, then kPackSlots pack slots.
// docs/plan.md tells the same for people.
#ifndef RESHARD_RUNTIME_PLAN_PROGRAM_H_
#define RESHARD_RUNTIME_PLAN_PROGRAM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Positions are 0 (the head) .. member_count - 1. TreeParent needs position > 0.
uint32_t TreeParent(PlanTreeKind kind, uint32_t position);
uint32_t TreeDepth(PlanTreeKind kind, uint32_t position);
// The positions whose parent is `position`, rising.
std::vector<uint32_t> TreeChildren(PlanTreeKind kind, uint32_t position, uint32_t member_count);

// Bytes [begin, begin + extent) of tree `tree`'s stream, entering the tree in `round`.
struct Slice {
  uint32_t tree = 0;
  uint32_t round = 0;
  int64_t begin = 0;
  int64_t extent = 0;
};

enum class OpKind : uint8_t {
#define RESHARD_OP(name, text, meaning) name,
#include "runtime/plan/op_kinds.def"
#undef RESHARD_OP
};
std::string_view OpKindText(OpKind kind);  // "pack"

// Offsets are bytes in the arena of the rank that owns them: receive slots first, then pack slots.
struct Op {
  OpKind kind = OpKind::kPack;
  uint32_t round = 0;
  uint32_t peer = 0;  // kSend, kForward: receiver; kRecv: sender; kCopy: lander; kPack: self
  uint32_t tree = 0;
  int64_t begin = 0;  // in the stream
  int64_t extent = 0;
  int64_t arena_offset = 0;  // ours: kPack, kRecv: written; kSend, kForward: read. kCopy: unused
  int64_t peer_offset =
      0;  // kSend, kForward: where the peer receives; kCopy: where the lander has it
};

struct Program {
  uint32_t rank = 0;
  int64_t arena_bytes = 0;
  std::vector<Op> ops;  // by (round, kind in the order of op_kinds.def, tree, begin)
};

// Facts about a whole plan that expanding one rank needs; made once in time linear in the plan.
struct ProgramIndex {
  std::vector<Slice> slices;            // by (tree, round)
  std::vector<uint32_t> first_slice;    // per tree; one more at the end
  std::vector<uint32_t> slice_injects;  // indices of injects by (tree, round, begin)
  std::vector<uint32_t> first_inject;   // per slice, into slice_injects; one more at the end
  std::vector<uint32_t> member_trees;   // (tree, position) pairs by (rank, tree): parallel arrays
  std::vector<uint32_t> member_positions;
  std::vector<uint32_t> first_member;  // per rank index (plan.ranks); one more at the end
  std::vector<std::vector<uint32_t>> domain_ranks;  // per domain: its ranks, rising
  std::vector<int64_t> piece_begin;                 // per piece: its first byte in the stream

  uint32_t RankIndex(const Plan& plan, uint32_t rank) const;  // kNoId when absent
  uint32_t SiteIndex(const Plan& plan, uint32_t rank) const;  // kNoId when absent
};

// `plan` has passed the bounds rules of verify.h.
ProgramIndex BuildProgramIndex(const Plan& plan);
Program ExpandProgram(const Plan& plan, const ProgramIndex& index, uint32_t rank);

// The receive-slot offset, inside the arena of tree position `position`, of a slice.
int64_t SliceArenaOffset(const Plan& plan, const ProgramIndex& index, const Slice& slice,
                         uint32_t position);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_PROGRAM_H_
