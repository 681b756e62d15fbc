#include <algorithm>
#include <utility>

#include "runtime/plan/testing/small_plan.h"
#include "tests/mutation/rule_mutations.h"

// Mistakes that no table of a plan can express, because ExpandProgram derives both ends of a
// message and all slots from one place: they are made in expanded programs of the chain 2 -> 5
// -> 6.

namespace reshard::testing {
namespace {

using Programs = std::vector<Program>;

// In this plan a rank is the index of its program.
Op* Find(Programs* programs, uint32_t rank, OpKind kind, uint32_t round) {
  for (Op& op : (*programs)[rank].ops) {
    if (op.kind == kind && op.round == round) return &op;
  }
  return nullptr;
}

// Slot 1 of rank 5 becomes slot 0, for everybody.
void AliasSlots(Programs* programs) {
  const auto alias = [](int64_t* offset) {
    if (*offset >= 1024 && *offset < 2048) *offset -= 1024;
  };
  for (Program& program : *programs) {
    for (Op& op : program.ops) {
      if (program.rank == 5 && op.kind != OpKind::kCopy) alias(&op.arena_offset);
      if (op.peer == 5 && op.kind != OpKind::kRecv) alias(&op.peer_offset);
    }
  }
}

// Sources pack every message at the beginning of their arena.
void AliasPackSlots(Programs* programs) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    for (Op& op : (*programs)[rank].ops) op.arena_offset = 0;
  }
}

// Rank 5 forwards each slice in the round in which it receives it, and everybody knows.
void ForwardAtOnce(Programs* programs) {
  for (Program& program : *programs) {
    for (Op& op : program.ops) {
      const bool forward = program.rank == 5 && op.kind == OpKind::kForward;
      const bool receive = program.rank == 6 && op.kind == OpKind::kRecv;
      const bool copy = op.kind == OpKind::kCopy && op.peer == 6;
      if (forward || receive || copy) --op.round;
    }
  }
}

}  // namespace

std::vector<ProgramMutation> ProgramMutations() {
  std::vector<ProgramMutation> mutations;
  const auto add = [&mutations](const char* name, VerifyRule rule,
                                std::function<void(Programs*)> mutate) {
    mutations.push_back({name, rule, ReplicatedPlan(), std::move(mutate)});
  };
  add("the sender means another place", VerifyRule::kMatch,
      [](Programs* p) { Find(p, 0, OpKind::kSend, 0)->peer_offset += 512; });
  add("the receiver expects another sender", VerifyRule::kMatch,
      [](Programs* p) { Find(p, 6, OpKind::kRecv, 5)->peer = 2; });
  add("nobody sends", VerifyRule::kMatch, [](Programs* p) {
    std::erase_if((*p)[0].ops,
                  [](const Op& op) { return op.kind == OpKind::kSend && op.round == 3; });
  });
  add("a slice leaves when it comes", VerifyRule::kProgress, ForwardAtOnce);
  add("two slots are one", VerifyRule::kSlotReuse, AliasSlots);
  add("two pack slots are one", VerifyRule::kSlotReuse, AliasPackSlots);
  add("two receives into one place", VerifyRule::kSlotReuse,
      [](Programs* p) { Find(p, 2, OpKind::kRecv, 0)->extent = 1024; });
  add("a byte is copied twice", VerifyRule::kWriteRace,
      [](Programs* p) { (*p)[3].ops.push_back(*Find(p, 3, OpKind::kCopy, 1)); });
  add("a byte is not copied", VerifyRule::kDelivery, [](Programs* p) { (*p)[3].ops.pop_back(); });
  add("a copy of nothing", VerifyRule::kEmptyOp,
      [](Programs* p) { Find(p, 3, OpKind::kCopy, 1)->extent = 0; });
  add("a copy from another domain", VerifyRule::kLocality,
      [](Programs* p) { Find(p, 3, OpKind::kCopy, 1)->peer = 5; });
  add("bytes that were never received", VerifyRule::kProvenance,
      [](Programs* p) { Find(p, 5, OpKind::kForward, 2)->begin = 1024; });
  add("bytes that were never packed", VerifyRule::kProvenance,
      [](Programs* p) { Find(p, 0, OpKind::kSend, 1)->arena_offset = 0; });
  add("an arena too small", VerifyRule::kSlotSize, [](Programs* p) { (*p)[5].arena_bytes = 3000; });
  add("a message twice", VerifyRule::kMessageUnique,
      [](Programs* p) { (*p)[0].ops.push_back(*Find(p, 0, OpKind::kSend, 1)); });
  add("too many operations", VerifyRule::kOpsPerRound, [](Programs* p) {
    for (uint32_t peer = 100; peer < 132; ++peer) {
      (*p)[0].ops.push_back(*Find(p, 0, OpKind::kSend, 1));
      (*p)[0].ops.back().peer = peer;
    }
  });
  add("after the last round", VerifyRule::kTotals,
      [](Programs* p) { Find(p, 6, OpKind::kCopy, 5)->round = 6; });
  return mutations;
}

}  // namespace reshard::testing
