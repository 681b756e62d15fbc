// The simulation against SimGrid, a flow-level simulator of others: when does each message of one
// round end? Needs the Debian package libsimgrid-dev; without it the test is reported as skipped.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compiler/simulate/simulate.h"
#include "compiler/simulate/testing/net_plan.h"

#ifdef RESHARD_HAS_SIMGRID
#include <simgrid/s4u.hpp>
#endif

namespace reshard {
namespace {

constexpr int64_t kGb = 1'000'000'000;
constexpr int64_t kMillisecondNs = 1'000'000;
constexpr uint32_t kInstances = 400;
constexpr uint32_t kSeed = 20;

using Pair = std::pair<uint32_t, uint32_t>;

// One round: ranks with a NIC each, some of them behind uplinks, messages between random pairs.
struct Instance {
  std::vector<int64_t> nic_bytes_per_s;
  std::vector<int> group;  // -1: none
  std::vector<int64_t> uplink_bytes_per_s;
  int64_t latency_ns = 0;
  std::map<Pair, int64_t> messages;  // bytes
};

Instance RandomInstance(std::mt19937* random) {
  const auto below = [random](uint32_t end) { return static_cast<uint32_t>((*random)() % end); };
  Instance instance;
  const uint32_t ranks = 2 + below(7);
  for (uint32_t g = below(3); g > 0; --g)
    instance.uplink_bytes_per_s.push_back(kGb * (1 + below(3)));
  for (uint32_t r = 0; r < ranks; ++r) {
    instance.nic_bytes_per_s.push_back(kGb * (1 + below(4)));
    instance.group.push_back(
        static_cast<int>(below(static_cast<uint32_t>(instance.uplink_bytes_per_s.size()) + 1)) - 1);
  }
  instance.latency_ns = below(2) == 0 ? 0 : kMillisecondNs;
  for (uint32_t m = 1 + below(12); m > 0; --m) {
    const Pair pair{below(ranks), below(ranks)};
    if (pair.first != pair.second) instance.messages[pair] = kGb * (1 + below(9));
  }
  return instance;
}

// Seconds until each message has arrived.
std::map<Pair, double> OurEnds(const Instance& instance) {
  testing::NetPlan net;
  for (const int64_t uplink : instance.uplink_bytes_per_s) net.AddGroup(uplink);
  for (size_t r = 0; r < instance.nic_bytes_per_s.size(); ++r) {
    const uint32_t rank = net.AddRank(net.AddDomain(), {instance.nic_bytes_per_s[r]});
    if (instance.group[r] >= 0) net.site(rank).group = static_cast<uint32_t>(instance.group[r]);
  }
  net.fabric().latency_ns = net.fabric().cross_group_latency_ns = instance.latency_ns;
  for (const auto& [pair, bytes] : instance.messages) {
    net.AddMessage(0, pair.first, pair.second, bytes);
  }
  SimOptions options;
  options.round_cost_ns = 0;
  options.record_spans = true;
  std::map<Pair, double> ends;
  for (const SimSpan& span : Simulate(net.Finish(), options).spans) {
    if (span.kind == SimSpanKind::kMessage) {
      ends[{span.src, span.dst}] = static_cast<double>(span.end_ps) * 1e-12;
    }
  }
  return ends;
}

#ifdef RESHARD_HAS_SIMGRID

namespace sg = simgrid::s4u;

// Builds the hosts, links and routes of an instance and an actor per message that starts it at
// `start_s`; `ends` gets what OurEnds returns, once the engine has run.
void AddToSimGrid(const Instance& instance, const std::string& name, double start_s,
                  sg::NetZone* root, std::map<Pair, double>* ends) {
  sg::NetZone* zone = sg::create_full_zone(name);
  zone->set_parent(root);
  const auto link = [&](const std::string& of, int64_t bytes_per_s) {
    return zone->create_link(name + of, static_cast<double>(bytes_per_s))->seal();
  };
  std::vector<sg::Host*> hosts;
  std::vector<sg::Link*> out, in, up, down;
  for (size_t g = 0; g < instance.uplink_bytes_per_s.size(); ++g) {
    up.push_back(link("up" + std::to_string(g), instance.uplink_bytes_per_s[g]));
    down.push_back(link("down" + std::to_string(g), instance.uplink_bytes_per_s[g]));
  }
  for (size_t r = 0; r < instance.nic_bytes_per_s.size(); ++r) {
    hosts.push_back(zone->create_host(name + "host" + std::to_string(r), 1e9)->seal());
    out.push_back(zone->create_link(name + "out" + std::to_string(r),
                                    static_cast<double>(instance.nic_bytes_per_s[r]))
                      ->set_latency(static_cast<double>(instance.latency_ns) * 1e-9)
                      ->seal());
    in.push_back(link("in" + std::to_string(r), instance.nic_bytes_per_s[r]));
  }
  for (const auto& [pair, bytes] : instance.messages) {
    const auto [a, b] = pair;
    std::vector<sg::LinkInRoute> way{sg::LinkInRoute(out[a]), sg::LinkInRoute(in[b])};
    if (instance.group[a] != instance.group[b]) {
      if (instance.group[a] >= 0) way.emplace_back(up[static_cast<size_t>(instance.group[a])]);
      if (instance.group[b] >= 0) way.emplace_back(down[static_cast<size_t>(instance.group[b])]);
    }
    zone->add_route(hosts[a]->get_netpoint(), hosts[b]->get_netpoint(), nullptr, nullptr, way,
                    false);
  }
  zone->seal();
  for (const auto& [pair, bytes] : instance.messages) {
    sg::Host* from = hosts[pair.first];
    sg::Host* to = hosts[pair.second];
    const uint64_t size = static_cast<uint64_t>(bytes);
    double* end = &(*ends)[pair];
    sg::Actor::create(name, from, [from, to, size, start_s, end] {
      sg::this_actor::sleep_until(start_s);
      sg::Comm::sendto(from, to, size);
      *end = sg::Engine::get_clock() - start_s;
    });
  }
}

TEST_CASE("messages of a round end when SimGrid says") {
  char program[] = "simgrid_test";
  char* arguments[] = {program, nullptr};
  int argument_count = 1;
  sg::Engine engine(&argument_count, arguments);
  // With lazy updates (its default) SimGrid lets some flows pass full ports.
  for (const char* setting : {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
                              "surf/precision:1e-9", "network/optim:Full"}) {
    sg::Engine::set_config(setting);
  }
  std::mt19937 random(kSeed);
  std::vector<Instance> instances;
  std::vector<std::map<Pair, double>> theirs(kInstances);
  sg::NetZone* root = sg::create_full_zone("root");
  for (uint32_t i = 0; i < kInstances; ++i) {
    instances.push_back(RandomInstance(&random));
    AddToSimGrid(instances[i], "i" + std::to_string(i), 1000.0 * i, root, &theirs[i]);
  }
  root->seal();
  engine.run();
  size_t compared = 0;
  for (uint32_t i = 0; i < kInstances; ++i) {
    CAPTURE(kSeed);
    CAPTURE(i);
    const std::map<Pair, double> ours = OurEnds(instances[i]);
    REQUIRE(ours.size() == theirs[i].size());
    for (const auto& end_s : ours) {
      CAPTURE(end_s.first.first);
      CAPTURE(end_s.first.second);
      CHECK(end_s.second == doctest::Approx(theirs[i].at(end_s.first)).epsilon(1e-6));
      ++compared;
    }
  }
  CHECK(compared > 3 * kInstances);
}

#else

TEST_CASE("messages of a round end when SimGrid says") {
  std::puts("SKIPPED: messages of a round end when SimGrid says: libsimgrid-dev is not installed");
  std::mt19937 random(kSeed);
  const Instance instance = RandomInstance(&random);
  CHECK(OurEnds(instance).size() == instance.messages.size());
}

#endif

}  // namespace
}  // namespace reshard
