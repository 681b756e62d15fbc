#include "compiler/route/chains.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

using testing::Job;

constexpr int64_t kRate = 50'000'000'000;
using Chain = std::vector<Rank>;
const RankList kNobody;  // outlives what is used

TEST_CASE("neighbours are of one group, chains of nearly equal length") {
  Job job;
  for (int i = 0; i < 8; ++i) job.AddDomain(1, kRate);
  job.topology.groups = {{"a", 0}, {"b", 0}};
  for (Rank rank = 0; rank < 8; ++rank) job.site(rank).group = rank % 2;
  const Ports ports(job.topology);
  UsedEdges used;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7}, 2, kNobody, &used) ==
        std::vector<Chain>{{0, 2, 4, 6}, {1, 3, 5, 7}});
  UsedEdges other;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6}, 3, kNobody, &other) ==
        std::vector<Chain>{{0, 2, 4}, {6, 1}, {3, 5}});
}

TEST_CASE("slow NICs end the chains, dealt over all of them") {
  Job job;
  for (int i = 0; i < 8; ++i) job.AddDomain(1, i == 1 || i == 4 ? kRate / 2 : kRate);
  const Ports ports(job.topology);
  UsedEdges used;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7}, 2, kNobody, &used) ==
        std::vector<Chain>{{0, 2, 3, 1}, {5, 6, 7, 4}});
}

TEST_CASE("by group, chains begin where holders are and enter each other group once") {
  Job job;
  for (int i = 0; i < 8; ++i) job.AddDomain(1, kRate);
  job.topology.groups = {{"a", kRate}, {"b", kRate}, {"c", kRate}, {"d", kRate}};
  for (Rank rank = 0; rank < 8; ++rank) job.site(rank).group = rank / 2;
  const Ports ports(job.topology);
  const RankList landers = {0, 1, 2, 3, 4, 5, 6, 7};
  UsedEdges used;
  PortBytes uplinks(ports);
  CHECK(MakeGroupChains(job.topology, ports, landers, 1, {{1}, 100, kNobody, &uplinks}, &used) ==
        std::vector<Chain>{{2, 3, 4, 5, 6, 7, 0, 1}});
  for (const GroupId group : {0, 2, 3}) CHECK(uplinks.bytes(ports.uplink_in(group)) == 100);
  CHECK(uplinks.bytes(ports.uplink_in(1)) == 0);
  CHECK(uplinks.bytes(ports.uplink_out(0)) == 0);
  // The ends of chains send nothing: those come last that have sent most.
  UsedEdges other;
  uplinks.AddUplinks(2, kNone, 1000);
  CHECK(MakeGroupChains(job.topology, ports, landers, 1, {{1}, 100, kNobody, &uplinks}, &other) ==
        std::vector<Chain>{{2, 3, 0, 1, 6, 7, 4, 5}});
  // Groups with holders have chains of their own, and the others follow the one that sends least.
  UsedEdges third;
  PortBytes more(ports);
  more.AddUplinks(0, kNone, 1000);
  CHECK(MakeGroupChains(job.topology, ports, landers, 1, {{0, 2}, 100, kNobody, &more}, &third) ==
        std::vector<Chain>{{0, 1}, {4, 5, 2, 3, 6, 7}});
  // Landers are in none of the holders' groups, and group 2 has sent.
  UsedEdges fourth;
  CHECK(MakeGroupChains(job.topology, ports, {4, 5, 6, 7}, 1, {{0, 1}, 100, kNobody, &more},
                        &fourth) == std::vector<Chain>{{6, 7, 4, 5}});
}

TEST_CASE("where uplinks limit, chains take whole groups") {
  Job job;
  for (int i = 0; i < 9; ++i) job.AddDomain(1, i == 1 ? kRate / 2 : kRate);
  job.topology.groups = {{"a", kRate}, {"b", kRate}, {"c", kRate}};
  for (Rank rank = 0; rank < 9; ++rank) job.site(rank).group = rank % 3;
  const Ports ports(job.topology);
  CHECK(ports.uplinks_limit());
  UsedEdges used;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 3, kNobody, &used) ==
        std::vector<Chain>{{0, 3, 6}, {4, 7, 1}, {2, 5, 8}});
  UsedEdges other;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 2, kNobody, &other) ==
        std::vector<Chain>{{0, 3, 6}, {4, 7, 1, 2, 5, 8}});
  // More chains than groups: none is empty.
  UsedEdges third;
  size_t members = 0;
  for (const Chain& chain :
       MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 7, kNobody, &third)) {
    CHECK(!chain.empty());
    members += chain.size();
  }
  CHECK(members == 9);
}

TEST_CASE("both orders of two trees are one backwards, and no lander passes on in both") {
  Job job;
  for (int i = 0; i < 11; ++i) job.AddDomain(1, kRate);
  const Ports ports(job.topology);
  UsedEdges used;
  const std::vector<Rank> landers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (int stream = 0; stream < 3; ++stream) {
    const auto [first, second] = MakeTwoTrees(job.topology, ports, landers, kNobody, &used);
    CHECK(std::set<Rank>(first.begin(), first.end()).size() == landers.size());
    CHECK(Chain(first.rbegin(), first.rend()) == second);
    // Positions 0 to 4 have children.
    for (size_t p = 0; p < 5; ++p) {
      CHECK(std::find(second.begin(), second.begin() + 5, first[p]) == second.begin() + 5);
    }
  }
}

TEST_CASE("later chains avoid the edges of earlier ones") {
  Job job;
  for (int i = 0; i < 10; ++i) job.AddDomain(1, kRate);
  const Ports ports(job.topology);
  UsedEdges used;
  std::set<std::pair<Rank, Rank>> edges;
  // Four streams with nearly the same landers.
  for (Rank last = 6; last < 10; ++last) {
    for (const Chain& chain :
         MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, last}, 1, kNobody, &used)) {
      REQUIRE(chain.size() == 7);
      for (size_t i = 1; i < chain.size(); ++i) {
        CHECK(edges.insert({chain[i - 1], chain[i]}).second);
      }
    }
  }
  CHECK(edges.size() == 4 * 6);
}

// A message of a sender to a head would have to wait in every round for one that is passed on
// between the same two.
TEST_CASE("no sender also passes other streams on to a head") {
  Job job;
  for (int i = 0; i < 7; ++i) job.AddDomain(1, kRate);
  const Ports ports(job.topology);
  const RankList landers = {2, 3, 4, 5};
  const RankList senders = {0, 1};
  UsedEdges without;
  without.Add(0, 2);
  CHECK(MakeChains(job.topology, ports, landers, 1, kNobody, &without)[0][0] == 2);
  UsedEdges used;
  used.Add(0, 2);
  CHECK(MakeChains(job.topology, ports, landers, 1, senders, &used) ==
        std::vector<Chain>{{5, 4, 3, 2}});
  // Later, either.
  CHECK(MakeChains(job.topology, ports, {0, 5, 6}, 1, kNobody, &used) ==
        std::vector<Chain>{{6, 5, 0}});
}

}  // namespace
}  // namespace reshard
