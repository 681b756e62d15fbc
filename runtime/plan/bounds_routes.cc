// Bounds rules of streams, trees and injects.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/plan/bounds_checker.h"
#include "runtime/plan/program.h"

namespace reshard {

void BoundsChecker::CheckStreams() {
  for (size_t i = 0; i < plan_.pieces.size(); ++i) {
    const PlanPiece& piece = plan_.pieces[i];
    if (!Require(piece.cls < plan_.classes.size(), "piece", i, "is of no class")) continue;
    const int64_t class_bytes = plan_.classes[piece.cls].bytes;
    Require(piece.begin >= 0 && piece.extent >= 1 && piece.extent <= class_bytes &&
                piece.begin <= class_bytes - piece.extent,
            "piece", i, "is empty or outside its class");
  }
  uint64_t next_piece = 0;
  int64_t total = 0;  // kept below the limit, so that adding one more extent cannot overflow
  for (size_t i = 0; i < plan_.streams.size(); ++i) {
    const PlanStream& stream = plan_.streams[i];
    Require(stream.bytes >= 1 && stream.bytes <= kMaxPlanBytes, "stream", i,
            "has an impossible number of bytes");
    if (!Require(stream.first_piece == next_piece && stream.piece_count >= 1 &&
                     Fits(next_piece, stream.piece_count, plan_.pieces.size()),
                 "stream", i, "does not begin where the pieces of the stream before end")) {
      return;
    }
    for (uint64_t p = next_piece; p < next_piece + stream.piece_count; ++p) {
      if (total <= kMaxPlanBytes) total += std::min(plan_.pieces[p].extent, kMaxPlanBytes);
    }
    if (!Require(total <= kMaxPlanBytes, "stream", i, "moves an impossible number of bytes"))
      return;
    next_piece += stream.piece_count;
  }
  if (next_piece != plan_.pieces.size()) {
    Add(VerifyRule::kBounds, "streams", "their pieces are not all pieces");
  }
}

void BoundsChecker::CheckTrees() {
  uint64_t next_member = 0;
  int64_t total = 0;
  // Per domain, 1 + the last tree with a member there.
  std::vector<size_t> last_tree(plan_.domains.size(), 0);
  for (size_t i = 0; i < plan_.trees.size(); ++i) {
    const PlanTree& tree = plan_.trees[i];
    if (!Require(tree.stream < plan_.streams.size(), "tree", i, "has no stream")) continue;
    if (i > 0) {
      RequireOrder(plan_.trees[i - 1].stream <= tree.stream, "tree", i,
                   "does not follow the one before by stream");
    }
    Require(static_cast<size_t>(tree.kind) < kTreeKindTexts.size(), "tree", i,
            "is of an unknown kind");
    if (!Require(tree.first_member == next_member && tree.member_count >= 1 &&
                     Fits(next_member, tree.member_count, plan_.tree_members.size()),
                 "tree", i, "does not begin where the members of the tree before end")) {
      return;
    }
    next_member += tree.member_count;
    if (!Require(AddProduct(plan_.streams[tree.stream].bytes, 1, &total) && total <= kMaxPlanBytes,
                 "tree", i, "moves an impossible number of bytes")) {
      return;
    }
    for (uint64_t m = tree.first_member; m < next_member; ++m) {
      const uint32_t rank = plan_.tree_members[m];
      if (!Require(HasRank(rank), "tree", i, "has a member without an entry")) break;
      // Two landers in one domain would make expanding a rank cost landers times slices.
      size_t& seen = last_tree[DomainOf(rank)];
      if (seen == i + 1) {
        Add(VerifyRule::kTreeShape, Item("tree", i), "has two landers in one domain");
        break;
      }
      seen = i + 1;
    }
  }
  if (next_member != plan_.tree_members.size()) {
    Add(VerifyRule::kBounds, "trees", "their members are not all members");
  }
}

void BoundsChecker::CheckInjects() {
  for (const PlanRank& rank : plan_.ranks) {
    for (uint32_t k = 0; k < rank.inject_count; ++k) {
      const size_t i = rank.first_inject + k;
      const PlanInject& inject = plan_.injects[i];
      Require(inject.source == rank.rank, "inject", i, "is listed at another rank than its source");
      if (!Require(inject.tree < plan_.trees.size(), "inject", i, "has no tree")) continue;
      const int64_t stream_bytes = plan_.streams[plan_.trees[inject.tree].stream].bytes;
      Require(inject.begin >= 0 && inject.extent >= 0 && inject.extent <= stream_bytes &&
                  inject.begin <= stream_bytes - inject.extent,
              "inject", i, "is outside its stream");
      Require(inject.round < plan_.header.totals.rounds, "inject", i, "comes after the last round");
      if (k > 0) {
        const PlanInject& before = plan_.injects[i - 1];
        RequireOrder(std::tie(before.round, before.tree) < std::tie(inject.round, inject.tree),
                     "inject", i, "does not follow the one before by round and tree");
      }
    }
  }
}

// The injects of a slice are one run, and the slices of a tree cover its stream once. Here and not
// among the global rules, because the cost of expanding a rank rests on it.
void BoundsChecker::CheckSlices() {
  const ProgramIndex index = BuildProgramIndex(plan_);
  for (size_t s = 0; s < index.slices.size(); ++s) {
    int64_t next = index.slices[s].begin;
    for (uint32_t i = index.first_inject[s]; i < index.first_inject[s + 1]; ++i) {
      const PlanInject& inject = plan_.injects[index.slice_injects[i]];
      if (inject.begin != next) {
        Add(VerifyRule::kSliceCoverage,
            Item("tree", inject.tree) + (", " + Item("round", inject.round)),
            "the injects are not one run: byte " + std::to_string(std::min(next, inject.begin)) +
                (inject.begin > next ? " is in none" : " is in two"));
        return;
      }
      next += inject.extent;
    }
  }
  const auto by_begin = [](const Slice& a, const Slice& b) {
    return std::tie(a.begin, a.extent) < std::tie(b.begin, b.extent);
  };
  for (size_t t = 0; t < plan_.trees.size(); ++t) {
    std::vector<Slice> slices(index.slices.begin() + index.first_slice[t],
                              index.slices.begin() + index.first_slice[t + 1]);
    if (!std::is_sorted(slices.begin(), slices.end(), by_begin)) {
      std::sort(slices.begin(), slices.end(), by_begin);
    }
    int64_t covered = 0;
    const int64_t bytes = plan_.streams[plan_.trees[t].stream].bytes;
    slices.push_back({0, 0, bytes, 0});  // the end, which has to be reached
    for (const Slice& slice : slices) {
      if (slice.begin != covered) {
        Add(VerifyRule::kSliceCoverage, Item("tree", t),
            "byte " + std::to_string(std::min(slice.begin, covered)) + " of its stream is sent " +
                (slice.begin > covered ? "by no inject" : "by two injects"));
        break;
      }
      covered += slice.extent;
    }
  }
}

}  // namespace reshard
