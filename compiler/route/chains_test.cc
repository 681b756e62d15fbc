#include "compiler/route/chains.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

using testing::Job;

constexpr int64_t kRate = 50'000'000'000;
using Chain = std::vector<Rank>;

TEST_CASE("neighbours are of one group, chains of nearly equal length") {
  Job job;
  for (int i = 0; i < 8; ++i) job.AddDomain(1, kRate);
  for (Rank rank = 0; rank < 8; ++rank) job.site(rank).group = rank % 2;
  const Ports ports(job.topology);
  UsedEdges used;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7}, 2, &used) ==
        std::vector<Chain>{{0, 2, 4, 6}, {1, 3, 5, 7}});
  UsedEdges other;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6}, 3, &other) ==
        std::vector<Chain>{{0, 2, 4}, {6, 1}, {3, 5}});
}

TEST_CASE("slow NICs end the chains, dealt over all of them") {
  Job job;
  for (int i = 0; i < 8; ++i) job.AddDomain(1, i == 1 || i == 4 ? kRate / 2 : kRate);
  const Ports ports(job.topology);
  UsedEdges used;
  CHECK(MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, 6, 7}, 2, &used) ==
        std::vector<Chain>{{0, 2, 3, 1}, {5, 6, 7, 4}});
}

TEST_CASE("later chains avoid the edges of earlier ones") {
  Job job;
  for (int i = 0; i < 10; ++i) job.AddDomain(1, kRate);
  const Ports ports(job.topology);
  UsedEdges used;
  std::set<std::pair<Rank, Rank>> edges;
  // Four streams with nearly the same landers.
  for (Rank last = 6; last < 10; ++last) {
    for (const Chain& chain : MakeChains(job.topology, ports, {0, 1, 2, 3, 4, 5, last}, 1, &used)) {
      REQUIRE(chain.size() == 7);
      for (size_t i = 1; i < chain.size(); ++i) {
        CHECK(edges.insert({chain[i - 1], chain[i]}).second);
      }
    }
  }
  CHECK(edges.size() == 4 * 6);
}

}  // namespace
}  // namespace reshard
