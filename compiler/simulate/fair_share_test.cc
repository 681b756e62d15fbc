#include "compiler/simulate/fair_share.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace reshard {
namespace {

using Use = FairShare::Use;

struct Instance {
  std::vector<double> capacities;
  std::vector<std::vector<Use>> flows;
};

Instance RandomInstance(std::mt19937* random) {
  const auto below = [random](uint32_t end) { return static_cast<uint32_t>((*random)() % end); };
  Instance instance;
  const uint32_t port_count = 1 + below(6);
  for (uint32_t p = 0; p < port_count; ++p) instance.capacities.push_back(1 + below(20));
  const uint32_t flow_count = 1 + below(8);
  for (uint32_t f = 0; f < flow_count; ++f) {
    std::vector<Use>& uses = instance.flows.emplace_back();
    for (uint32_t p = 0; p < port_count; ++p) {
      if (below(3) == 0) uses.push_back({p, below(2) == 0 ? 1.0 : 0.25 * (1 + below(4))});
    }
    if (uses.empty()) uses.push_back({below(port_count), 1});
  }
  return instance;
}

// What defines max-min fairness, judged without any filling: no port carries more than it can, and
// every flow passes a full port in which no other flow is faster.
void CheckFair(const Instance& instance, const std::vector<double>& rates,
               const std::vector<bool>& active) {
  constexpr double kSlack = 1e-9;
  const size_t port_count = instance.capacities.size();
  std::vector<double> used(port_count, 0), fastest(port_count, 0);
  for (size_t f = 0; f < rates.size(); ++f) {
    if (!active[f]) continue;
    for (const Use& use : instance.flows[f]) {
      used[use.port] += use.weight * rates[f];
      fastest[use.port] = std::max(fastest[use.port], rates[f]);
    }
  }
  for (size_t p = 0; p < port_count; ++p) CHECK(used[p] <= instance.capacities[p] + kSlack);
  for (size_t f = 0; f < rates.size(); ++f) {
    if (!active[f]) continue;
    const bool held_back =
        std::any_of(instance.flows[f].begin(), instance.flows[f].end(), [&](const Use& use) {
          return used[use.port] >= instance.capacities[use.port] - kSlack &&
                 rates[f] >= fastest[use.port] - kSlack;
        });
    CHECK(held_back);
  }
}

TEST_CASE("rates are max-min fair, also after some flows have ended") {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Instance instance = RandomInstance(&random);
    FairShare share;
    for (const double capacity : instance.capacities) share.AddPort(capacity);
    std::vector<FairShare::FlowId> ids;
    std::vector<double> rates(instance.flows.size(), 0);
    std::vector<bool> active(instance.flows.size(), true);
    // A rate that changes without notice would stay as it was here.
    const auto update = [&] {
      share.Update([&](FairShare::FlowId id) {
        const auto at = std::find(ids.begin(), ids.end(), id) - ids.begin();
        rates[static_cast<size_t>(at)] = share.rate(id);
      });
    };
    for (const std::vector<Use>& uses : instance.flows) {
      ids.push_back(share.Add(uses));
      if (random() % 2 == 0) update();
    }
    update();
    CheckFair(instance, rates, active);
    for (size_t f = 0; f + 1 < ids.size(); ++f) {
      if (random() % 2 == 0) continue;
      share.Remove(ids[f]);
      active[f] = false;
      update();
      CheckFair(instance, rates, active);
    }
  }
}

TEST_CASE("rates stay max-min fair while flows come and go, some sharing many ports") {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
    FairShare share;
    Instance instance;
    const uint32_t port_count = 4 + below(20);
    for (uint32_t p = 0; p < port_count; ++p) {
      instance.capacities.push_back(1 + below(9));
      share.AddPort(instance.capacities.back());
    }
    std::vector<FairShare::FlowId> ids;
    std::vector<double> rates;
    std::vector<bool> active;
    for (int step = 0; step < 150; ++step) {
      for (uint32_t change = 0; change <= below(3); ++change) {
        const uint32_t victim = below(30);
        if (victim < ids.size() && active[victim]) {
          share.Remove(ids[victim]);
          active[victim] = false;
          continue;
        }
        std::vector<Use>& uses = instance.flows.emplace_back();
        const uint32_t first = below(port_count);
        for (uint32_t i = 0; i <= below(4) && i < port_count; ++i) {
          uses.push_back({(first + i) % port_count, below(3) == 0 ? 0.5 : 1.0});
        }
        ids.push_back(share.Add(uses));
        rates.push_back(0);
        active.push_back(true);
      }
      share.Update([&](FairShare::FlowId id) {
        for (size_t f = 0; f < ids.size(); ++f) {
          if (active[f] && ids[f] == id) rates[f] = share.rate(id);
        }
      });
      CheckFair(instance, rates, active);
    }
  }
}

TEST_CASE("what a change costs does not grow with all that is connected to it") {
  // A ring of fast senders, each with a flow to two of the slow receivers, which hold them back.
  constexpr uint32_t kCount = 1000;
  FairShare share;
  std::vector<FairShare::FlowId> flows;
  for (uint32_t i = 0; i < kCount; ++i) share.AddPort(100);
  for (uint32_t i = 0; i < kCount; ++i) share.AddPort(2);
  for (uint32_t i = 0; i < kCount; ++i) {
    flows.push_back(share.Add(std::vector<Use>{{i}, {kCount + i}}));
    flows.push_back(share.Add(std::vector<Use>{{i}, {kCount + (i + 1) % kCount}}));
  }
  share.Update([](FairShare::FlowId) {});
  CHECK(share.refilled_port_count() == 2 * kCount);
  CHECK(share.rate(flows[2]) == 1);
  share.Remove(flows[1]);
  share.Update([](FairShare::FlowId) {});
  CHECK(share.rate(flows[2]) == 2);
  // The ports of the flow that has ended, and the sender of the one that it made room for.
  CHECK(share.refilled_port_count() == 3);
}

TEST_CASE("two flows share a port, the one that is held back elsewhere leaves its rest") {
  FairShare share;
  const auto wide = share.AddPort(10);
  const auto narrow = share.AddPort(2);
  const auto slow = share.Add(std::vector<Use>{{wide}, {narrow}});
  const auto fast = share.Add(std::vector<Use>{{wide}});
  share.Update([](FairShare::FlowId) {});
  CHECK(share.rate(slow) == 2);
  CHECK(share.rate(fast) == 8);
}

TEST_CASE("only the part that is connected to a change hears of it") {
  FairShare share;
  const auto a = share.AddPort(6);
  const auto b = share.AddPort(6);
  const auto first = share.Add(std::vector<Use>{{a}});
  const auto other = share.Add(std::vector<Use>{{b}});
  share.Update([](FairShare::FlowId) {});
  std::vector<FairShare::FlowId> changed;
  const auto second = share.Add(std::vector<Use>{{a}});
  share.Update([&](FairShare::FlowId id) { changed.push_back(id); });
  std::sort(changed.begin(), changed.end());
  CHECK(changed == std::vector<FairShare::FlowId>{first, second});
  CHECK(share.rate(second) == 3);
  CHECK(share.rate(other) == 6);
}

}  // namespace
}  // namespace reshard
