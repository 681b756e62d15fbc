#include "compiler/route/water_fill.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/route/testing/job.h"

namespace reshard {
namespace {

using testing::Job;

Job RanksWithRates(const std::vector<int64_t>& rates) {
  Job job;
  for (const int64_t rate : rates) job.AddDomain(1, rate);
  return job;
}

int64_t Total(const std::vector<int64_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t{0});
}

TEST_CASE("one flow fills the least busy ports to one level, faster ones with more") {
  const Job job = RanksWithRates({1000, 1000, 2000, 1000});
  const Ports ports(job.topology);
  PortBytes sent(ports);
  sent.Add(0, 900);   // 0.9 s
  sent.Add(1, 100);   // 0.1 s
  sent.Add(3, 5000);  // 5 s: stays dry
  Flow flow{{0, 1, 2, 3}, 3000, {}};
  FillFlow(ports, &flow, &sent);
  // (900 + 100 + 0 + 3000) / 4000 = 1 s.
  CHECK(flow.parts == std::vector<int64_t>{100, 900, 2000, 0});
  FillFlow(ports, &flow, &sent);  // again from its own state: nothing changes
  CHECK(flow.parts == std::vector<int64_t>{100, 900, 2000, 0});
  CHECK(sent.bytes(2) == 2000);
}

TEST_CASE("bytes that do not divide go to the lowest outlet") {
  const Job job = RanksWithRates({1000, 1000, 1000});
  const Ports ports(job.topology);
  PortBytes sent(ports);
  Flow flow{{0, 1, 2}, 100, {}};
  FillFlow(ports, &flow, &sent);
  CHECK(flow.parts == std::vector<int64_t>{34, 33, 33});
}

// A rank with a NIC of 1,000 bytes/s for each entry: its group.
Job RanksInGroups(const std::vector<GroupId>& groups, const std::vector<int64_t>& uplinks) {
  Job job = RanksWithRates(std::vector<int64_t>(groups.size(), 1000));
  for (const int64_t rate : uplinks) job.topology.groups.push_back({"group", rate});
  for (Rank rank = 0; rank < groups.size(); ++rank) job.site(rank).group = groups[rank];
  return job;
}

TEST_CASE("outlets of another group fill up to what its uplinks carry") {
  const Job job = RanksInGroups({0, 0, 1, 1}, {1500, 500});
  const Ports ports(job.topology);
  PortBytes sent(ports);
  Flow flow{{0, 1, 2, 3}, 2500, {}};
  flow.to_groups = {0};
  CHECK(RoomBelow(ports, flow, 1'000'000'000'000, sent) == 2500);
  FillFlow(ports, &flow, &sent);
  CHECK(flow.parts == std::vector<int64_t>{1000, 1000, 250, 250});
  CHECK(sent.bytes(ports.uplink_out(1)) == 500);
  CHECK(sent.bytes(ports.uplink_in(0)) == 500);
  CHECK(sent.bytes(ports.uplink_out(0)) == 0);
  FillFlow(ports, &flow, &sent);  // again from its own state: nothing changes
  CHECK(flow.parts == std::vector<int64_t>{1000, 1000, 250, 250});
  // The uplinks are busy with something else.
  sent.AddUplinks(1, 0, 500);
  FillFlow(ports, &flow, &sent);
  CHECK(flow.parts == std::vector<int64_t>{1200, 1200, 50, 50});
  CHECK(sent.PortLevel(ports.uplink_out(1)) == 1'200'000'000'000);
}

TEST_CASE("several groups share the way into the one that receives") {
  const Job job = RanksInGroups({0, 1, 2, 2}, {500, 0, 0});
  const Ports ports(job.topology);
  PortBytes sent(ports);
  Flow flow{{1, 2, 3}, 900, {}};
  flow.to_groups = {0};
  FillFlow(ports, &flow, &sent);
  CHECK(flow.parts == std::vector<int64_t>{300, 300, 300});
  CHECK(sent.PortLevel(ports.uplink_in(0)) == 1'800'000'000'000);
}

TEST_CASE("other groups send only what would keep the own one busy for too long") {
  const Job job = RanksInGroups({0, 1}, {900, 900});
  const Ports ports(job.topology);
  PortBytes sent(ports);
  Flow flow{{0, 1}, 1800, {}};
  flow.to_groups = {0};
  flow.away_from_ps = 1'500'000'000'000;
  FillFlow(ports, &flow, &sent);
  CHECK(flow.parts == std::vector<int64_t>{1500, 300});
  flow.away_from_ps = 2'000'000'000'000;
  FillFlow(ports, &flow, &sent);
  CHECK(flow.parts == std::vector<int64_t>{1800, 0});
}

TEST_CASE("flows that can leave another group's uplinks alone do") {
  const Job job = RanksInGroups({0, 1, 2}, {500, 500, 500});
  const Ports ports(job.topology);
  PortBytes sent(ports);
  std::vector<Flow> flows = {{{1, 2}, 1000, {}}, {{1}, 500, {}}};
  for (Flow& flow : flows) flow.to_groups = {kNone};  // outside all groups
  WaterFill(ports, &flows, &sent);
  CHECK(flows[0].parts[0] == doctest::Approx(250).epsilon(0.01));
  CHECK(sent.MaxLevel() < 1'510'000'000'000);
}

// The least busy assignment is as busy as the busiest cut: all flows that have no outlet outside a
// set of ports, over the rates of the set.
double BusiestCut(const std::vector<Flow>& flows, const std::vector<int64_t>& rates) {
  double busiest = 0;
  for (uint32_t set = 1; set < 1U << rates.size(); ++set) {
    double bytes = 0, rate = 0;
    for (const Flow& flow : flows) {
      const bool inside = std::all_of(flow.outlets.begin(), flow.outlets.end(),
                                      [&](OutletId outlet) { return set >> outlet & 1; });
      if (inside) bytes += static_cast<double>(flow.bytes);
    }
    for (size_t i = 0; i < rates.size(); ++i) {
      if (set >> i & 1) rate += static_cast<double>(rates[i]);
    }
    busiest = std::max(busiest, bytes / rate);
  }
  return busiest;
}

TEST_CASE("many flows come within half a per cent of the busiest cut") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    std::vector<int64_t> rates;
    for (uint32_t i = 0; i < 2 + below(6); ++i) rates.push_back(1'000'000 * (1 + below(4)));
    const Job job = RanksWithRates(rates);
    const Ports ports(job.topology);
    std::vector<Flow> flows;
    for (uint32_t i = 0; i < 1 + below(12); ++i) {
      Flow flow;
      for (OutletId outlet = 0; outlet < rates.size(); ++outlet) {
        if (below(3) == 0) flow.outlets.push_back(outlet);
      }
      if (flow.outlets.empty()) flow.outlets.push_back(0);
      flow.bytes = 1'000'000 + below(1'000'000'000);
      flows.push_back(flow);
    }
    PortBytes sent(ports);
    WaterFill(ports, &flows, &sent);
    double busiest = 0;
    for (PortId port = 0; port < rates.size(); ++port) {
      busiest = std::max(busiest,
                         static_cast<double>(sent.bytes(port)) / static_cast<double>(rates[port]));
    }
    CAPTURE(seed);
    for (const Flow& flow : flows) CHECK(Total(flow.parts) == flow.bytes);
    CHECK(busiest <= 1.005 * BusiestCut(flows, rates));
    CHECK(busiest >= 0.999 * BusiestCut(flows, rates));
  }
}

// One pass leaves an outlet 1.6 times as busy as it has to be.
TEST_CASE("filling goes on until the busiest outlet is as little busy as it can be") {
  constexpr int64_t kRate = 50'000'000'000;
  const Job job = RanksWithRates(std::vector<int64_t>(5, kRate));
  const Ports ports(job.topology);
  const std::vector<std::pair<std::vector<OutletId>, int64_t>> demands = {
      {{2, 3}, 16}, {{0, 3}, 16}, {{1, 4}, 16}, {{3, 4}, 32}};
  std::vector<Flow> flows;
  for (const auto& [outlets, gigabytes] : demands) {
    flows.push_back({outlets, gigabytes * 1'000'000'000, {}});
  }
  PortBytes once(ports);
  std::vector<Flow> once_flows = flows;
  for (Flow& flow : once_flows) FillFlow(ports, &flow, &once);
  const int64_t even = PicosecondsFor(80'000'000'000 / 5, kRate);
  CHECK(once.MaxLevel() > even + even * 6 / 10);
  PortBytes sent(ports);
  WaterFill(ports, &flows, &sent);
  CHECK(sent.MaxLevel() <= even + even / 10'000 + 1);
  for (const Flow& flow : flows) {
    int64_t bytes = 0;
    for (const int64_t part : flow.parts) bytes += part;
    CHECK(bytes == flow.bytes);
  }
}

}  // namespace
}  // namespace reshard
