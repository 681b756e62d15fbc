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

TEST_CASE("only the part that is connected to a change is computed anew") {
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
