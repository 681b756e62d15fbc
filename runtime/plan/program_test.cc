#include "runtime/plan/program.h"

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <tuple>

#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using testing::BinaryPlan;
using testing::ColocatedPlan;
using testing::ExpertPlan;
using testing::NamedPlan;
using testing::ReplicatedPlan;
using testing::SmallPlans;
using testing::ToyPlan;

// One line per operation: round, kind, peer, tree, stream bytes, our offset, the peer's offset.
std::string Text(const Plan& plan, uint32_t rank) {
  const Program program = ExpandProgram(plan, BuildProgramIndex(plan), rank);
  std::ostringstream out;
  out << "arena " << program.arena_bytes << "\n";
  for (const Op& op : program.ops) {
    out << op.round << " " << OpKindText(op.kind) << " " << op.peer << " tree " << op.tree << " ["
        << op.begin << "+" << op.extent << "] " << op.arena_offset << " " << op.peer_offset << "\n";
  }
  return out.str();
}

TEST_CASE("a source packs its messages side by side and sends them to the heads' slots") {
  CHECK(Text(ToyPlan(), 1) ==
        "arena 1024\n"
        "0 pack 1 tree 0 [32+32] 0 0\n"
        "0 pack 1 tree 2 [32+32] 256 0\n"
        "0 send 2 tree 0 [32+32] 0 32\n"
        "0 send 4 tree 2 [32+32] 256 32\n"
        "1 pack 1 tree 1 [32+32] 512 0\n"
        "1 pack 1 tree 3 [32+32] 768 0\n"
        "1 send 3 tree 1 [32+32] 512 288\n"
        "1 send 5 tree 3 [32+32] 768 288\n");
  CHECK(Text(ToyPlan(), 2) ==
        "arena 768\n"
        "0 recv 0 tree 0 [0+32] 0 0\n"
        "0 recv 1 tree 0 [32+32] 32 0\n"
        "0 copy 2 tree 0 [0+64] 0 0\n");
}

TEST_CASE("in a binary tree a slice goes to two children in one round") {
  const std::string text = Text(BinaryPlan(), 2);
  CHECK(text.find("1 forward 5 tree 0 [0+1024] 0 1024\n1 forward 6 tree 0 [0+1024] 0 1024\n") !=
        std::string::npos);
  CHECK(text.find("4 forward 5 tree 0 [3072+1024] 0 1024\n") != std::string::npos);
  CHECK(Text(BinaryPlan(), 6).find("1 recv 2 tree 0 [0+1024] 1024 0\n") != std::string::npos);
}

TEST_CASE("positions, parents, children and depths of trees agree") {
  for (size_t k = 0; k < kTreeKindTexts.size(); ++k) {
    const auto kind = static_cast<PlanTreeKind>(k);
    CAPTURE(TreeKindText(kind));
    for (uint32_t count = 1; count < 40; ++count) {
      std::map<uint32_t, uint32_t> parents;
      for (uint32_t p = 0; p < count; ++p) {
        for (const uint32_t child : TreeChildren(kind, p, count)) {
          CHECK(TreeParent(kind, child) == p);
          CHECK(TreeDepth(kind, child) == TreeDepth(kind, p) + 1);
          CHECK(parents.emplace(child, p).second);
        }
      }
      CHECK(parents.size() == count - 1);
    }
  }
  CHECK(TreeDepth(PlanTreeKind::kBinary, 6) == 2);
  CHECK(TreeDepth(PlanTreeKind::kBinary, 7) == 3);
  CHECK(TreeDepth(PlanTreeKind::kStar, 9) == 1);
  CHECK(TreeChildren(PlanTreeKind::kStar, 0, 4) == std::vector<uint32_t>{1, 2, 3});
  CHECK(TreeDepth(PlanTreeKind::kStemStar, 9) == 2);
  CHECK(TreeChildren(PlanTreeKind::kStemStar, 1, 4) == std::vector<uint32_t>{2, 3});
  CHECK(TreeParent(PlanTreeKind::kStemBinary, 4) == 2);
  CHECK(TreeDepth(PlanTreeKind::kStemBinary, 4) == 3);
}

TEST_CASE("a slice moves one position a round along a chain, through the slots in turn") {
  CHECK(Text(ReplicatedPlan(), 5) ==
        "arena 3072\n"
        "1 recv 2 tree 0 [0+1024] 1024 0\n"
        "1 copy 5 tree 0 [0+1024] 0 1024\n"
        "2 forward 6 tree 0 [0+1024] 1024 2048\n"
        "2 recv 2 tree 0 [1024+1024] 2048 0\n"
        "2 copy 5 tree 0 [1024+1024] 0 2048\n"
        "3 forward 6 tree 0 [1024+1024] 2048 0\n"
        "3 recv 2 tree 0 [2048+1024] 0 0\n"
        "3 copy 5 tree 0 [2048+1024] 0 0\n"
        "4 forward 6 tree 0 [2048+1024] 0 1024\n"
        "4 recv 2 tree 0 [3072+1024] 1024 0\n"
        "4 copy 5 tree 0 [3072+1024] 0 1024\n"
        "5 forward 6 tree 0 [3072+1024] 1024 2048\n");
  // A rank that lands nothing copies from the lander of its domain.
  CHECK(Text(ReplicatedPlan(), 7) ==
        "arena 0\n"
        "2 copy 6 tree 0 [0+1024] 0 2048\n"
        "3 copy 6 tree 0 [1024+1024] 0 0\n"
        "4 copy 6 tree 0 [2048+1024] 0 1024\n"
        "5 copy 6 tree 0 [3072+1024] 0 2048\n");
}

TEST_CASE("a cut inside a class makes messages of unequal length in one slice") {
  CHECK(Text(ExpertPlan(), 3) ==
        "arena 768\n"
        "0 recv 0 tree 1 [0+128] 0 0\n"
        "0 copy 3 tree 1 [0+128] 0 0\n"
        "1 recv 0 tree 1 [128+64] 256 0\n"
        "1 recv 1 tree 1 [192+192] 320 0\n"
        "1 copy 3 tree 1 [128+256] 0 256\n");
}

TEST_CASE("the lander of a local stream packs into its receive slot") {
  // Rank 2 lands tree 2 (local) and tree 4 in one round, one behind the other.
  CHECK(Text(ColocatedPlan(), 2) ==
        "arena 2048\n"
        "0 pack 2 tree 2 [0+128] 0 0\n"
        "0 pack 2 tree 5 [0+128] 1536 0\n"
        "0 send 1 tree 5 [0+128] 1536 256\n"
        "0 recv 0 tree 4 [0+128] 256 0\n"
        "0 recv 1 tree 4 [128+128] 384 0\n"
        "0 copy 2 tree 2 [0+128] 0 0\n"
        "0 copy 3 tree 3 [0+128] 0 0\n"
        "0 copy 2 tree 4 [0+256] 0 256\n");
  // Rank 3 needs only its own row and copies nothing of the rows that rank 2 lands.
  CHECK(Text(ColocatedPlan(), 3) ==
        "arena 1280\n"
        "0 pack 3 tree 3 [0+128] 0 0\n"
        "0 pack 3 tree 5 [128+128] 768 0\n"
        "0 send 1 tree 5 [128+128] 768 384\n"
        "0 copy 3 tree 3 [0+128] 0 0\n");
}

TEST_CASE("the piece that a rank does not need splits its copy") {
  Plan plan = ColocatedPlan();
  // Stream 5 carries rows 2, 3, 2' where rank 0 does not need row 3.
  plan.rank_sets.push_back({1, 2, 3});
  plan.classes[3].needers = static_cast<uint32_t>(plan.rank_sets.size() - 1);
  const std::string text = Text(plan, 0);
  CHECK(text.find("copy 1 tree 5 [0+128] 0 256\n") != std::string::npos);
  plan.classes[2].needers = plan.classes[3].needers;
  CHECK(Text(plan, 0).find("tree 5 [") == Text(plan, 0).rfind("tree 5 ["));
  CHECK(Text(plan, 0).find("copy 1 tree 5") == std::string::npos);
}

TEST_CASE("an absent rank has an empty program") {
  const Plan plan = ToyPlan();
  CHECK(Text(plan, 6) == "arena 0\n");
  CHECK(BuildProgramIndex(plan).RankIndex(plan, 6) == kNoId);
}

TEST_CASE("both ends of every message agree, and totals are those written by hand") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    const Plan& plan = named.plan;
    const ProgramIndex index = BuildProgramIndex(plan);
    // (round, from, to) -> (offset at the receiver, bytes), as each end sees it.
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::pair<int64_t, int64_t>> sent, received;
    PlanTotals totals;
    for (const PlanRank& rank : plan.ranks) {
      const Program program = ExpandProgram(plan, index, rank.rank);
      CHECK(program.arena_bytes <= plan.header.totals.max_staging_bytes);
      for (const Op& op : program.ops) {
        totals.rounds = std::max(totals.rounds, op.round + 1);
        if (op.kind == OpKind::kSend || op.kind == OpKind::kForward) {
          CHECK(sent.insert({{op.round, rank.rank, op.peer}, {op.peer_offset, op.extent}}).second);
          const bool same_domain = plan.sites[index.SiteIndex(plan, rank.rank)].domain ==
                                   plan.sites[index.SiteIndex(plan, op.peer)].domain;
          totals.messages += same_domain ? 0 : 1;
          (same_domain ? totals.scaleup_bytes : totals.network_bytes) += op.extent;
        } else if (op.kind == OpKind::kRecv) {
          CHECK(received.insert({{op.round, op.peer, rank.rank}, {op.arena_offset, op.extent}})
                    .second);
        } else if (op.kind == OpKind::kCopy) {
          (op.peer == rank.rank ? totals.local_bytes : totals.scaleup_bytes) += op.extent;
        }
      }
    }
    CHECK(sent == received);
    CHECK(totals.rounds == plan.header.totals.rounds);
    CHECK(totals.messages == plan.header.totals.messages);
    CHECK(totals.network_bytes == plan.header.totals.network_bytes);
    CHECK(totals.local_bytes == plan.header.totals.local_bytes);
    CHECK(totals.scaleup_bytes == plan.header.totals.scaleup_bytes);
  }
}

}  // namespace
}  // namespace reshard
