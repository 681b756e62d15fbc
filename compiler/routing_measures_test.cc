#include "compiler/routing_measures.h"

#include <doctest/doctest.h>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

constexpr int64_t kRate = 1'000'000'000;  // a byte takes a nanosecond

RoutedStream Stream(int64_t bytes, std::vector<RoutedTree> trees) {
  RoutedStream stream;
  stream.bytes = {{0, 0, bytes}};
  stream.trees = std::move(trees);
  return stream;
}

TEST_CASE("peers are those of either direction, once") {
  Routing routing;
  routing.streams.push_back(
      Stream(10, {{PlanTreeKind::kChain, {1, 2, 3}, {{{0, 0, 5}, 0}, {{0, 5, 5}, 4}}}}));
  // 1 receives from 0 and 4, and sends to 2.
  CHECK(MostPeers(routing) == 3);
  routing.streams.push_back(Stream(10, {{PlanTreeKind::kChain, {2, 1}, {{{0, 0, 10}, 0}}}}));
  // 2 receives from 0 as well; 1 and 2 are one pair.
  CHECK(MostPeers(routing) == 3);
}

TEST_CASE("streams share messages where one source has both for one lander") {
  Routing routing;
  routing.streams.push_back(Stream(10, {{PlanTreeKind::kChain, {1}, {{{0, 0, 10}, 0}}}}));
  routing.streams.push_back(Stream(10, {{PlanTreeKind::kChain, {2}, {{{0, 0, 10}, 0}}}}));
  CHECK_FALSE(StreamsShareMessages(routing));
  routing.streams.push_back(Stream(10, {{PlanTreeKind::kChain, {2, 1}, {{{0, 0, 10}, 0}}}}));
  CHECK(StreamsShareMessages(routing));
}

TEST_CASE("a deep tree takes at least what filling it costs with the best number of slices") {
  testing::Job job;
  for (int domain = 0; domain < 5; ++domain) job.AddDomain(1, kRate);
  const Ports ports(job.topology);
  Routing routing;
  routing.streams.push_back(
      Stream(8'000'000, {{PlanTreeKind::kChain, {1, 2, 3}, {{{0, 0, 8'000'000}, 0}}}}));
  // 8 ms in R slices, 2 rounds to fill: 8 ms + 2 c + 2 * 8 ms / R + R c, with c = 1 us least at
  // R = sqrt(2 * 8000) = 126.
  CHECK(LeastNs(ports, routing, 1000) == 8'000'000 + (2 + 2 * 126) * 1000);
  double best_ns = 1e18;
  for (int slices = 1; slices < 1000; ++slices) {
    best_ns = std::min(best_ns, 8e6 + 2e3 + 2 * 8e6 / slices + slices * 1e3);
  }
  CHECK(static_cast<double>(LeastNs(ports, routing, 1000)) <= best_ns);
  CHECK(static_cast<double>(LeastNs(ports, routing, 1000)) > best_ns * 0.999);
  CHECK_FALSE(HasCarriers(job.topology, routing));
}

TEST_CASE("the busiest NIC, sending or at all") {
  testing::Job job;
  for (int domain = 0; domain < 2; ++domain) job.AddDomain(1, kRate);
  Routing routing;
  routing.loads.push_back({0, 300, 100});
  routing.loads.push_back({1, 100, 500});
  CHECK(BusiestPortNs(job.topology, routing, true) == 300);
  CHECK(BusiestPortNs(job.topology, routing, false) == 500);
}

}  // namespace
}  // namespace reshard
