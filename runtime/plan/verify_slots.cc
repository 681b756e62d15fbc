#include "runtime/plan/verify_slots.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/plan/plan_options.h"

namespace reshard {
namespace {

std::string At(uint32_t rank, uint32_t round) {
  return "rank " + std::to_string(rank) + ", round " + std::to_string(round);
}

// Bytes of a slot that a slice or message occupies; slots are checked to be far below 2^63.
uint64_t SlotBytes(int64_t extent) {
  const auto align = static_cast<uint64_t>(kSlotAlignBytes);
  return (static_cast<uint64_t>(extent) + align - 1) / align * align;
}

class SlotChecker {
 public:
  SlotChecker(const Plan& plan, const VerifyFacts& facts, VerifyLog* log)
      : plan_(plan), index_(facts.index()), log_(*log), loads_(plan.header.totals.rounds) {}

  void Run() {
    CheckTreeRounds();
    for (uint32_t r = 0; r < plan_.ranks.size() && log_.CanGoOn(); ++r) CheckRank(r);
    CheckArenas();
    CheckSlices();
    CheckMessages();
  }

 private:
  // What a rank does in one round.
  struct Load {
    uint64_t recv_bytes = 0;
    uint64_t pack_bytes = 0;
    uint32_t ops = 0;
  };
  // `tree` makes rank `from` forward to rank `to` in the rounds of its slices plus `depth`.
  struct Edge {
    uint32_t from = 0;
    uint32_t to = 0;
    uint32_t tree = 0;
    uint32_t depth = 0;
    auto operator<=>(const Edge&) const = default;
  };

  void CheckTreeRounds();
  void CheckRank(uint32_t r);
  bool AddMember(uint32_t r, uint32_t tree_index, uint32_t position);
  void CheckArenas();
  void CheckSlices();
  void CheckMessages();
  void CheckSharedEdge(std::vector<Edge>::const_iterator first,
                       std::vector<Edge>::const_iterator last);
  bool HasSlice(uint32_t tree, uint32_t round) const;

  // The load of a round, or null where the plan ends before it.
  Load* At(uint32_t r, uint64_t round) {
    if (round >= loads_.size()) {
      log_.Add(VerifyRule::kTotals, reshard::At(plan_.ranks[r].rank, static_cast<uint32_t>(round)),
               "an operation comes after the last of " + std::to_string(loads_.size()) + " rounds");
      return nullptr;
    }
    Load& load = loads_[round];
    if (load.ops == 0 && load.recv_bytes == 0 && load.pack_bytes == 0) {
      rounds_.push_back(static_cast<uint32_t>(round));
    }
    return &load;
  }

  const Plan& plan_;
  const ProgramIndex& index_;
  VerifyLog& log_;
  std::vector<Load> loads_;       // per round, of one rank; zeros between ranks
  std::vector<uint32_t> rounds_;  // that have a load
};

// A position receives after its parent did, and before the parent's slot is written again. Every
// wait for a message therefore is for an earlier round; waits for slots are for earlier rounds by
// the definition of the program.
void SlotChecker::CheckTreeRounds() {
  for (size_t t = 0; t < plan_.trees.size() && log_.CanGoOn(); ++t) {
    const PlanTree& tree = plan_.trees[t];
    if (!log_.Charge(tree.member_count)) return;
    for (uint32_t p = 1; p < tree.member_count; ++p) {
      const uint32_t parent = TreeParent(tree.kind, p);
      const uint32_t depth = TreeDepth(tree.kind, p);
      const uint32_t parent_depth = TreeDepth(tree.kind, parent);
      if (parent >= tree.member_count || depth <= parent_depth) {
        log_.Add(VerifyRule::kProgress, "tree " + std::to_string(t),
                 "position " + std::to_string(p) + " does not receive after its parent");
        break;
      }
      if (depth - parent_depth >= kRecvSlots) {
        log_.Add(VerifyRule::kSlotReuse, "tree " + std::to_string(t),
                 "position " + std::to_string(parent) + " forwards when its slot is written again");
        break;
      }
    }
  }
}

// Adds what a rank receives and forwards as a member of a tree. False when the work is over.
bool SlotChecker::AddMember(uint32_t r, uint32_t tree_index, uint32_t position) {
  const PlanTree& tree = plan_.trees[tree_index];
  const uint32_t depth = TreeDepth(tree.kind, position);
  const std::vector<uint32_t> children = TreeChildren(tree.kind, position, tree.member_count);
  for (uint32_t s = index_.first_slice[tree_index]; s < index_.first_slice[tree_index + 1]; ++s) {
    const Slice& slice = index_.slices[s];
    const uint32_t parts = index_.first_inject[s + 1] - index_.first_inject[s];
    if (!log_.Charge(children.size() + parts + 4)) return false;
    Load* const load = At(r, uint64_t{slice.round} + depth);
    if (load == nullptr) return false;
    load->recv_bytes += SlotBytes(slice.extent);
    if (position > 0) ++load->ops;
    for (uint32_t i = 0; position == 0 && i < parts; ++i) {
      const uint32_t inject = index_.slice_injects[index_.first_inject[s] + i];
      if (plan_.injects[inject].source != plan_.ranks[r].rank) ++load->ops;
    }
    for (const uint32_t child : children) {
      Load* const forward = At(r, uint64_t{slice.round} + TreeDepth(tree.kind, child));
      if (forward == nullptr) return false;
      ++forward->ops;
    }
  }
  return true;
}

void SlotChecker::CheckRank(uint32_t r) {
  const PlanRank& rank = plan_.ranks[r];
  bool sound = true;
  for (uint32_t m = index_.first_member[r]; sound && m < index_.first_member[r + 1]; ++m) {
    sound = AddMember(r, index_.member_trees[m], index_.member_positions[m]);
  }
  for (uint32_t i = 0; sound && i < rank.inject_count; ++i) {
    const PlanInject& inject = plan_.injects[rank.first_inject + i];
    if (!log_.Charge(4)) break;
    if (plan_.tree_members[plan_.trees[inject.tree].first_member] == rank.rank) continue;
    Load* const load = At(r, inject.round);
    load->pack_bytes += SlotBytes(inject.extent);
    ++load->ops;
  }
  for (const uint32_t round : rounds_) {
    const Load load = std::exchange(loads_[round], Load{});
    const bool fits = load.recv_bytes <= static_cast<uint64_t>(rank.recv_slot_bytes) &&
                      load.pack_bytes <= static_cast<uint64_t>(rank.pack_slot_bytes) &&
                      load.ops <= kMaxOpsPerRound;
    if (fits || !sound) continue;
    const std::string where = reshard::At(rank.rank, round);
    if (load.recv_bytes > static_cast<uint64_t>(rank.recv_slot_bytes)) {
      log_.Add(VerifyRule::kSlotSize, where,
               "receives " + std::to_string(load.recv_bytes) + " bytes into a slot of " +
                   std::to_string(rank.recv_slot_bytes));
    }
    if (load.pack_bytes > static_cast<uint64_t>(rank.pack_slot_bytes)) {
      log_.Add(VerifyRule::kSlotSize, where,
               "packs " + std::to_string(load.pack_bytes) + " bytes into a slot of " +
                   std::to_string(rank.pack_slot_bytes));
    }
    if (load.ops > kMaxOpsPerRound) {
      log_.Add(VerifyRule::kOpsPerRound, where,
               "has " + std::to_string(load.ops) + " network operations, more than " +
                   std::to_string(kMaxOpsPerRound));
    }
  }
  rounds_.clear();
}

void SlotChecker::CheckArenas() {
  const std::optional<int64_t> limit = OptionNumber(plan_, kMaxStagingOption);
  if (!limit) return;
  for (const PlanRank& rank : plan_.ranks) {
    if (rank.staging_bytes() <= *limit) continue;
    log_.Add(VerifyRule::kSlotSize, "rank " + std::to_string(rank.rank),
             "stages in " + std::to_string(rank.staging_bytes()) + " bytes, more than the " +
                 std::to_string(*limit) + " of the option max-staging");
  }
}

void SlotChecker::CheckSlices() {
  for (size_t s = 0; s < index_.slices.size() && log_.CanGoOn(); ++s) {
    const uint32_t sources = index_.first_inject[s + 1] - index_.first_inject[s];
    if (sources <= kMaxSourcesPerSlice) continue;
    log_.Add(VerifyRule::kOpsPerRound,
             "tree " + std::to_string(index_.slices[s].tree) + ", round " +
                 std::to_string(index_.slices[s].round),
             "a slice comes from " + std::to_string(sources) + " sources, more than " +
                 std::to_string(kMaxSourcesPerSlice));
  }
}

bool SlotChecker::HasSlice(uint32_t tree, uint32_t round) const {
  const auto first = index_.slices.begin() + index_.first_slice[tree];
  const auto last = index_.slices.begin() + index_.first_slice[tree + 1];
  const auto found = std::lower_bound(
      first, last, round, [](const Slice& slice, uint32_t r) { return slice.round < r; });
  return found != last && found->round == round;
}

// Forwards of several trees along one edge.
void SlotChecker::CheckSharedEdge(std::vector<Edge>::const_iterator first,
                                  std::vector<Edge>::const_iterator last) {
  std::vector<std::pair<uint32_t, uint32_t>> rounds;  // round, tree
  for (auto edge = first; edge != last; ++edge) {
    for (uint32_t s = index_.first_slice[edge->tree]; s < index_.first_slice[edge->tree + 1]; ++s) {
      rounds.emplace_back(index_.slices[s].round + edge->depth, edge->tree);
    }
  }
  if (!log_.Charge(rounds.size() * 8)) return;
  std::sort(rounds.begin(), rounds.end());
  for (size_t i = 1; i < rounds.size(); ++i) {
    if (rounds[i].first != rounds[i - 1].first) continue;
    log_.Add(VerifyRule::kMessageUnique, reshard::At(first->from, rounds[i].first),
             "forwards slices of trees " + std::to_string(rounds[i - 1].second) + " and " +
                 std::to_string(rounds[i].second) + " to rank " + std::to_string(first->to));
    return;
  }
}

void SlotChecker::CheckMessages() {
  std::vector<Edge> edges;
  for (uint32_t t = 0; t < plan_.trees.size(); ++t) {
    const PlanTree& tree = plan_.trees[t];
    const auto member = plan_.tree_members.begin() + tree.first_member;
    for (uint32_t p = 1; p < tree.member_count; ++p) {
      edges.push_back({member[TreeParent(tree.kind, p)], member[p], t, TreeDepth(tree.kind, p)});
    }
  }
  if (!log_.Charge(edges.size() * 16 + plan_.injects.size() * 8)) return;
  std::sort(edges.begin(), edges.end());
  for (auto first = edges.cbegin(); first != edges.cend() && log_.CanGoOn();) {
    auto last = first + 1;
    while (last != edges.cend() && last->from == first->from && last->to == first->to) ++last;
    if (last - first > 1) CheckSharedEdge(first, last);
    first = last;
  }
  // Messages of one source and round stand together.
  std::vector<uint32_t> heads;
  for (size_t i = 0; i < plan_.injects.size() && log_.CanGoOn(); ++i) {
    const PlanInject& inject = plan_.injects[i];
    const uint32_t head = plan_.tree_members[plan_.trees[inject.tree].first_member];
    if (i > 0 && (plan_.injects[i - 1].source != inject.source ||
                  plan_.injects[i - 1].round != inject.round)) {
      heads.clear();
    }
    if (head == inject.source) continue;
    bool twice = std::find(heads.begin(), heads.end(), head) != heads.end();
    heads.push_back(head);
    if (!log_.Charge(heads.size())) return;
    auto edge = std::lower_bound(edges.cbegin(), edges.cend(), Edge{inject.source, head, 0, 0});
    for (; edge != edges.cend() && edge->from == inject.source && edge->to == head; ++edge) {
      if (!log_.Charge(4)) return;
      twice = twice ||
              (inject.round >= edge->depth && HasSlice(edge->tree, inject.round - edge->depth));
    }
    if (twice) {
      log_.Add(VerifyRule::kMessageUnique, reshard::At(inject.source, inject.round),
               "sends two messages to rank " + std::to_string(head));
    }
  }
}

}  // namespace

void VerifySlots(const Plan& plan, const VerifyFacts& facts, VerifyLog* log) {
  SlotChecker(plan, facts, log).Run();
}

}  // namespace reshard
