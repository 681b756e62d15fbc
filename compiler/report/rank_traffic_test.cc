#include "compiler/report/rank_traffic.h"

#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "runtime/plan/program.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

struct Sum {
  int64_t bytes = 0;
  int64_t messages = 0;
  bool operator==(const Sum&) const = default;
};
using Sums = std::map<std::pair<Rank, Rank>, Sum>;

Sums ByRank(const Plan& plan) {
  Sums sums;
  for (const TrafficEdge& edge : RankTraffic(plan)) {
    const auto ranks = std::pair(plan.sites[edge.from].rank, plan.sites[edge.to].rank);
    CHECK(sums.emplace(ranks, Sum{edge.bytes, edge.messages}).second);
  }
  return sums;
}

// The same, added up from the operations of every rank.
Sums OfPrograms(const Plan& plan) {
  const ProgramIndex index = BuildProgramIndex(plan);
  Sums sums;
  for (const PlanRank& rank : plan.ranks) {
    for (const Op& op : ExpandProgram(plan, index, rank.rank).ops) {
      if (op.kind == OpKind::kSend || op.kind == OpKind::kForward) {
        Sum& sum = sums[{rank.rank, op.peer}];
        sum.bytes += op.extent;
        const bool network = plan.sites[index.SiteIndex(plan, rank.rank)].domain !=
                             plan.sites[index.SiteIndex(plan, op.peer)].domain;
        sum.messages += network ? 1 : 0;
      }
      if (op.kind == OpKind::kCopy && op.peer != rank.rank) {
        sums[{op.peer, rank.rank}].bytes += op.extent;
      }
    }
  }
  return sums;
}

TEST_CASE("each source of the toy sends 32 bytes to each destination") {
  Sums expected;
  for (const Rank from : {0U, 1U}) {
    for (const Rank to : {2U, 3U, 4U, 5U}) expected[{from, to}] = {32, 1};
  }
  CHECK(ByRank(testing::ToyPlan()) == expected);
}

TEST_CASE("a chain and copies inside three domains") {
  // Both sources send half of 4096 bytes in four slices; every lander has one neighbour.
  const Sums expected = {{{0, 2}, {2048, 4}}, {{1, 2}, {2048, 4}}, {{2, 5}, {4096, 4}},
                         {{5, 6}, {4096, 4}}, {{2, 3}, {4096, 0}}, {{5, 4}, {4096, 0}},
                         {{6, 7}, {4096, 0}}};
  CHECK(ByRank(testing::ReplicatedPlan()) == expected);
}

TEST_CASE("traffic is what the programs of all ranks move, and what the totals say") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    CHECK(ByRank(named.plan) == OfPrograms(named.plan));
    int64_t network_bytes = 0, scaleup_bytes = 0, messages = 0;
    for (const TrafficEdge& edge : RankTraffic(named.plan)) {
      const bool network = named.plan.sites[edge.from].domain != named.plan.sites[edge.to].domain;
      (network ? network_bytes : scaleup_bytes) += edge.bytes;
      messages += edge.messages;
    }
    CHECK(network_bytes == named.plan.header.totals.network_bytes);
    CHECK(scaleup_bytes == named.plan.header.totals.scaleup_bytes);
    CHECK(messages == named.plan.header.totals.messages);
  }
}

}  // namespace
}  // namespace reshard
