#include "runtime/plan/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <tuple>

#include "runtime/base/check.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {
namespace {

constexpr std::array kOpTexts = {
#define RESHARD_OP(name, text, meaning) std::string_view(text),
#include "runtime/plan/op_kinds.def"
#undef RESHARD_OP
};

// What follows the stem of a tree, positions counted from its first one.
enum class Body : uint8_t { kChain, kBinary, kStar };

Body BodyOf(PlanTreeKind kind) {
  switch (kind) {
    case PlanTreeKind::kBinary:
    case PlanTreeKind::kStemBinary:
      return Body::kBinary;
    case PlanTreeKind::kStar:
    case PlanTreeKind::kStemStar:
      return Body::kStar;
    case PlanTreeKind::kChain:
      break;
  }
  return Body::kChain;
}

// Members before the body, each of which feeds the next position.
uint32_t StemLength(PlanTreeKind kind) {
  return kind == PlanTreeKind::kStemBinary || kind == PlanTreeKind::kStemStar ? 1 : 0;
}

int64_t AlignSlot(int64_t bytes) {
  return (bytes + kSlotAlignBytes - 1) / kSlotAlignBytes * kSlotAlignBytes;
}

int64_t RecvSlotBegin(const PlanRank& rank, uint32_t round) {
  return static_cast<int64_t>(round % kRecvSlots) * rank.recv_slot_bytes;
}

int64_t PackSlotBegin(const PlanRank& rank, uint32_t round) {
  return kRecvSlots * rank.recv_slot_bytes +
         static_cast<int64_t>(round % kPackSlots) * rank.pack_slot_bytes;
}

// The slice that enters `tree` in `round`, or null.
const Slice* FindSlice(const ProgramIndex& index, uint32_t tree, uint32_t round) {
  const auto first = index.slices.begin() + index.first_slice[tree];
  const auto last = index.slices.begin() + index.first_slice[tree + 1];
  if (first == last || round < first->round || round > (last - 1)->round) return nullptr;
  const auto found = std::lower_bound(
      first, last, round, [](const Slice& slice, uint32_t r) { return slice.round < r; });
  return found->round == round ? &*found : nullptr;
}

// Exclusive prefix sums of `counts`, with the total at the end.
std::vector<uint32_t> FirstOfEach(std::vector<uint32_t> counts) {
  counts.push_back(0);
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), uint32_t{0});
  return counts;
}

// The injects by (tree, round, begin). The table is by source, so each tree's part is gathered
// round by round with two counting passes: a sort would dominate loading a large plan. Trees travel
// with the numbers of their injects, so that the second pass does not jump through the table.
std::vector<uint32_t> InjectsByTree(const Plan& plan, std::vector<uint32_t>* first_of_tree) {
  struct Numbered {
    uint32_t inject;
    uint32_t tree;
  };
  uint32_t last_round = 0;
  for (const PlanInject& inject : plan.injects) last_round = std::max(last_round, inject.round);
  std::vector<uint32_t> round_counts(plan.injects.empty() ? 0 : size_t{last_round} + 1, 0);
  std::vector<uint32_t> tree_counts(plan.trees.size(), 0);
  for (const PlanInject& inject : plan.injects) {
    ++round_counts[inject.round];
    ++tree_counts[inject.tree];
  }
  std::vector<uint32_t> next = FirstOfEach(std::move(round_counts));
  std::vector<Numbered> by_round(plan.injects.size());
  for (uint32_t i = 0; i < plan.injects.size(); ++i) {
    by_round[next[plan.injects[i].round]++] = {i, plan.injects[i].tree};
  }
  *first_of_tree = FirstOfEach(std::move(tree_counts));
  next = *first_of_tree;
  std::vector<uint32_t> by_tree(plan.injects.size());
  for (const Numbered& numbered : by_round) by_tree[next[numbered.tree]++] = numbered.inject;
  return by_tree;
}

void IndexSlices(const Plan& plan, ProgramIndex* index) {
  std::vector<uint32_t> first_of_tree;
  index->slice_injects = InjectsByTree(plan, &first_of_tree);
  index->slices.reserve(plan.injects.size());
  index->first_inject.reserve(plan.injects.size() + 1);
  for (uint32_t tree = 0; tree < plan.trees.size(); ++tree) {
    index->first_slice.push_back(static_cast<uint32_t>(index->slices.size()));
    const auto last = index->slice_injects.begin() + first_of_tree[tree + 1];
    for (auto it = index->slice_injects.begin() + first_of_tree[tree]; it != last;) {
      const uint32_t round = plan.injects[*it].round;
      auto end = it;
      int64_t extent = 0;
      while (end != last && plan.injects[*end].round == round) {
        extent += plan.injects[*end++].extent;
      }
      if (end - it > 1) {
        std::sort(it, end, [&plan](uint32_t a, uint32_t b) {
          return std::tie(plan.injects[a].begin, a) < std::tie(plan.injects[b].begin, b);
        });
      }
      index->first_inject.push_back(static_cast<uint32_t>(it - index->slice_injects.begin()));
      index->slices.push_back({tree, round, plan.injects[*it].begin, extent});
      it = end;
    }
  }
  index->first_slice.push_back(static_cast<uint32_t>(index->slices.size()));
  index->first_inject.push_back(static_cast<uint32_t>(plan.injects.size()));
}

void IndexMembers(const Plan& plan, ProgramIndex* index) {
  std::vector<uint32_t> rank_of_member(plan.tree_members.size());
  std::vector<uint32_t> counts(plan.ranks.size(), 0);
  for (size_t m = 0; m < plan.tree_members.size(); ++m) {
    rank_of_member[m] = index->RankIndex(plan, plan.tree_members[m]);
    ++counts[rank_of_member[m]];
  }
  index->first_member = FirstOfEach(std::move(counts));
  index->member_trees.resize(plan.tree_members.size());
  index->member_positions.resize(plan.tree_members.size());
  std::vector<uint32_t> next = index->first_member;
  for (uint32_t tree = 0; tree < plan.trees.size(); ++tree) {
    for (uint32_t p = 0; p < plan.trees[tree].member_count; ++p) {
      const uint32_t slot = next[rank_of_member[plan.trees[tree].first_member + p]]++;
      index->member_trees[slot] = tree;
      index->member_positions[slot] = p;
    }
  }
}

// Collects the operations of one rank.
class Expander {
 public:
  Expander(const Plan& plan, const ProgramIndex& index, uint32_t rank_index)
      : plan_(plan), index_(index), rank_index_(rank_index), rank_(plan.ranks[rank_index]) {}

  Program Run() {
    program_.rank = rank_.rank;
    program_.arena_bytes = rank_.staging_bytes();
    AddInjects();
    for (uint32_t m = index_.first_member[rank_index_]; m < index_.first_member[rank_index_ + 1];
         ++m) {
      AddReceives(index_.member_trees[m], index_.member_positions[m]);
      AddForwards(index_.member_trees[m], index_.member_positions[m]);
    }
    AddCopies();
    std::sort(program_.ops.begin(), program_.ops.end(), [](const Op& a, const Op& b) {
      return std::tie(a.round, a.kind, a.tree, a.begin, a.peer) <
             std::tie(b.round, b.kind, b.tree, b.begin, b.peer);
    });
    return std::move(program_);
  }

 private:
  uint32_t Member(uint32_t tree, uint32_t position) const {
    return plan_.tree_members[plan_.trees[tree].first_member + position];
  }

  // Packs and sends. A source that is the head itself packs into its receive slot.
  void AddInjects() {
    uint32_t round = 0;
    int64_t slot_used_bytes = 0;
    for (uint32_t i = 0; i < rank_.inject_count; ++i) {
      const PlanInject& inject = plan_.injects[rank_.first_inject + i];
      if (i == 0 || inject.round != round) slot_used_bytes = 0;
      round = inject.round;
      const Slice* slice = FindSlice(index_, inject.tree, inject.round);
      const uint32_t head = Member(inject.tree, 0);
      Op op;
      op.kind = OpKind::kPack;
      op.round = inject.round;
      op.peer = rank_.rank;
      op.tree = inject.tree;
      op.begin = inject.begin;
      op.extent = inject.extent;
      const int64_t head_offset =
          SliceArenaOffset(plan_, index_, *slice, 0) + inject.begin - slice->begin;
      if (head == rank_.rank) {
        op.arena_offset = head_offset;
        program_.ops.push_back(op);
        continue;
      }
      op.arena_offset = PackSlotBegin(rank_, inject.round) + slot_used_bytes;
      slot_used_bytes += AlignSlot(inject.extent);
      program_.ops.push_back(op);
      op.kind = OpKind::kSend;
      op.peer = head;
      op.peer_offset = head_offset;
      program_.ops.push_back(op);
    }
  }

  void AddReceives(uint32_t tree, uint32_t position) {
    const PlanTreeKind kind = plan_.trees[tree].kind;
    for (uint32_t s = index_.first_slice[tree]; s < index_.first_slice[tree + 1]; ++s) {
      const Slice& slice = index_.slices[s];
      Op op;
      op.kind = OpKind::kRecv;
      op.round = slice.round + TreeDepth(kind, position);
      op.tree = tree;
      op.begin = slice.begin;
      op.extent = slice.extent;
      op.arena_offset = SliceArenaOffset(plan_, index_, slice, position);
      if (position > 0) {
        op.peer = Member(tree, TreeParent(kind, position));
        program_.ops.push_back(op);
        continue;
      }
      for (uint32_t i = index_.first_inject[s]; i < index_.first_inject[s + 1]; ++i) {
        const PlanInject& inject = plan_.injects[index_.slice_injects[i]];
        if (inject.source == rank_.rank) continue;
        Op part = op;
        part.peer = inject.source;
        part.begin = inject.begin;
        part.extent = inject.extent;
        part.arena_offset += inject.begin - slice.begin;
        program_.ops.push_back(part);
      }
    }
  }

  void AddForwards(uint32_t tree, uint32_t position) {
    const PlanTree& t = plan_.trees[tree];
    for (const uint32_t child : TreeChildren(t.kind, position, t.member_count)) {
      for (uint32_t s = index_.first_slice[tree]; s < index_.first_slice[tree + 1]; ++s) {
        const Slice& slice = index_.slices[s];
        Op op;
        op.kind = OpKind::kForward;
        op.round = slice.round + TreeDepth(t.kind, child);
        op.peer = Member(tree, child);
        op.tree = tree;
        op.begin = slice.begin;
        op.extent = slice.extent;
        op.arena_offset = SliceArenaOffset(plan_, index_, slice, position);
        op.peer_offset = SliceArenaOffset(plan_, index_, slice, child);
        program_.ops.push_back(op);
      }
    }
  }

  void AddCopies() {
    in_set_.assign(plan_.rank_sets.size(), kUnknown);
    const uint32_t site = index_.SiteIndex(plan_, rank_.rank);
    for (const uint32_t lander : index_.domain_ranks[plan_.sites[site].domain]) {
      const uint32_t lander_index = index_.RankIndex(plan_, lander);
      if (lander_index == kNoId) continue;
      for (uint32_t m = index_.first_member[lander_index];
           m < index_.first_member[lander_index + 1]; ++m) {
        AddCopiesFrom(lander, index_.member_trees[m], index_.member_positions[m]);
      }
    }
  }

  void AddCopiesFrom(uint32_t lander, uint32_t tree, uint32_t position) {
    const PlanStream& stream = plan_.streams[plan_.trees[tree].stream];
    const auto first_piece = index_.piece_begin.begin() + stream.first_piece;
    const auto last_piece = first_piece + stream.piece_count;
    const auto piece_of = [this](auto it) -> const PlanPiece& {
      return plan_.pieces[static_cast<size_t>(it - index_.piece_begin.begin())];
    };
    auto needed_piece = first_piece;
    while (needed_piece != last_piece && !Needs(piece_of(needed_piece).cls)) ++needed_piece;
    if (needed_piece == last_piece) return;
    for (uint32_t s = index_.first_slice[tree]; s < index_.first_slice[tree + 1]; ++s) {
      const Slice& slice = index_.slices[s];
      const int64_t slice_end = slice.begin + slice.extent;
      // The piece that holds the slice's first byte.
      auto it = std::upper_bound(first_piece, last_piece, slice.begin);
      if (it != first_piece) --it;
      int64_t run_begin = 0;
      int64_t run_end = -1;
      for (; it != last_piece && *it < slice_end; ++it) {
        if (!Needs(piece_of(it).cls)) continue;
        const int64_t begin = std::max(*it, slice.begin);
        const int64_t end = std::min(*it + piece_of(it).extent, slice_end);
        if (begin >= end) continue;
        if (run_end != begin) {
          AddCopy(lander, slice, position, run_begin, run_end);
          run_begin = begin;
        }
        run_end = end;
      }
      AddCopy(lander, slice, position, run_begin, run_end);
    }
  }

  void AddCopy(uint32_t lander, const Slice& slice, uint32_t position, int64_t begin, int64_t end) {
    if (end <= begin) return;
    Op op;
    op.kind = OpKind::kCopy;
    op.round = slice.round + TreeDepth(plan_.trees[slice.tree].kind, position);
    op.peer = lander;
    op.tree = slice.tree;
    op.begin = begin;
    op.extent = end - begin;
    op.peer_offset = SliceArenaOffset(plan_, index_, slice, position) + begin - slice.begin;
    program_.ops.push_back(op);
  }

  bool Needs(uint32_t cls) {
    const uint32_t set = plan_.classes[cls].needers;
    if (in_set_[set] == kUnknown) {
      in_set_[set] = Contains(plan_.rank_sets[set], rank_.rank) ? 1 : 0;
    }
    return in_set_[set] == 1;
  }

  static constexpr uint8_t kUnknown = 2;

  const Plan& plan_;
  const ProgramIndex& index_;
  const uint32_t rank_index_;
  const PlanRank& rank_;
  std::vector<uint8_t> in_set_;  // per rank set, is this rank in it: 0, 1 or kUnknown
  Program program_;
};

}  // namespace

std::string_view OpKindText(OpKind kind) { return kOpTexts[static_cast<size_t>(kind)]; }

uint32_t TreeParent(PlanTreeKind kind, uint32_t position) {
  RESHARD_CHECK(position > 0, "the head of a tree has no parent");
  const uint32_t stem = StemLength(kind);
  if (position <= stem) return position - 1;
  const uint32_t own = position - stem;
  switch (BodyOf(kind)) {
    case Body::kChain:
      return stem + own - 1;
    case Body::kBinary:
      return stem + (own - 1) / 2;
    case Body::kStar:
      break;
  }
  return stem;
}

uint32_t TreeDepth(PlanTreeKind kind, uint32_t position) {
  const uint32_t stem = StemLength(kind);
  if (position <= stem) return position;
  const uint32_t own = position - stem;
  switch (BodyOf(kind)) {
    case Body::kChain:
      return stem + own;
    case Body::kBinary:
      return stem + static_cast<uint32_t>(std::bit_width(uint64_t{own} + 1)) - 1;
    case Body::kStar:
      break;
  }
  return stem + 1;
}

std::vector<uint32_t> TreeChildren(PlanTreeKind kind, uint32_t position, uint32_t member_count) {
  const uint32_t stem = StemLength(kind);
  // 64 bits: twice a position may be more than a position can be.
  uint64_t first = uint64_t{position} + 1, end = first + 1;
  if (position >= stem) {
    const uint64_t own = position - stem;
    if (BodyOf(kind) == Body::kBinary) {
      first = stem + 2 * own + 1;
      end = first + 2;
    } else if (BodyOf(kind) == Body::kStar) {
      end = own == 0 ? member_count : first;
    }
  }
  std::vector<uint32_t> children;
  for (uint64_t child = first; child < std::min<uint64_t>(end, member_count); ++child) {
    children.push_back(static_cast<uint32_t>(child));
  }
  return children;
}

uint32_t ProgramIndex::RankIndex(const Plan& plan, uint32_t rank) const {
  const size_t row = RowOfRank(plan.ranks, rank);
  return row == plan.ranks.size() ? kNoId : static_cast<uint32_t>(row);
}

uint32_t ProgramIndex::SiteIndex(const Plan& plan, uint32_t rank) const {
  const size_t row = RowOfRank(plan.sites, rank);
  return row == plan.sites.size() ? kNoId : static_cast<uint32_t>(row);
}

ProgramIndex BuildProgramIndex(const Plan& plan) {
  ProgramIndex index;
  IndexSlices(plan, &index);
  IndexMembers(plan, &index);
  index.domain_ranks.resize(plan.domains.size());
  for (const PlanSite& site : plan.sites) index.domain_ranks[site.domain].push_back(site.rank);
  index.piece_begin.resize(plan.pieces.size());
  for (const PlanStream& stream : plan.streams) {
    int64_t begin = 0;
    for (uint32_t p = stream.first_piece; p < stream.first_piece + stream.piece_count; ++p) {
      index.piece_begin[p] = begin;
      begin += plan.pieces[p].extent;
    }
  }
  return index;
}

Program ExpandProgram(const Plan& plan, const ProgramIndex& index, uint32_t rank) {
  const uint32_t rank_index = index.RankIndex(plan, rank);
  if (rank_index == kNoId) return {rank, 0, {}};
  return Expander(plan, index, rank_index).Run();
}

int64_t SliceArenaOffset(const Plan& plan, const ProgramIndex& index, const Slice& slice,
                         uint32_t position) {
  const PlanTree& tree = plan.trees[slice.tree];
  const uint32_t rank_index =
      index.RankIndex(plan, plan.tree_members[tree.first_member + position]);
  const uint32_t round = slice.round + TreeDepth(tree.kind, position);
  int64_t offset = RecvSlotBegin(plan.ranks[rank_index], round);
  // The slices of smaller trees that the rank receives in the same round lie before it.
  for (uint32_t m = index.first_member[rank_index]; m < index.first_member[rank_index + 1]; ++m) {
    const uint32_t other = index.member_trees[m];
    if (other >= slice.tree) break;
    const uint32_t depth = TreeDepth(plan.trees[other].kind, index.member_positions[m]);
    if (depth > round) continue;
    const Slice* before = FindSlice(index, other, round - depth);
    if (before != nullptr) offset += AlignSlot(before->extent);
  }
  return offset;
}

}  // namespace reshard
