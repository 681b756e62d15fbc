#include "compiler/route/water_fill.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

constexpr int kMaxPasses = 60;
constexpr Wide kPicosecondsPerSecond = 1'000'000'000'000;

// Bytes that changed their outlet.
int64_t Moved(const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  int64_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += std::max<int64_t>(0, after[i] - before[i]);
  return moved;
}

}  // namespace

void FillFlow(const Ports& ports, Flow* flow, PortBytes* sent) {
  const size_t count = flow->outlets.size();
  for (size_t i = 0; i < flow->parts.size(); ++i) sent->Add(flow->outlets[i], -flow->parts[i]);
  flow->parts.assign(count, 0);
  std::vector<std::pair<int64_t, uint32_t>> order;  // level, index
  for (uint32_t i = 0; i < count; ++i) order.emplace_back(sent->Level(flow->outlets[i]), i);
  std::sort(order.begin(), order.end());
  // The common level of the k least busy outlets, for the first k that the water does not overflow.
  Wide water = Wide{flow->bytes} * kPicosecondsPerSecond, rate = 0;
  int64_t level = 0;
  size_t used = 0;
  while (used < count) {
    const int64_t outlet_rate = ports.outlet(flow->outlets[order[used].second]).bytes_per_s;
    water += Wide{order[used].first} * outlet_rate;
    rate += outlet_rate;
    ++used;
    level = static_cast<int64_t>(water / rate);
    if (used < count && level <= order[used].first) break;
  }
  int64_t left = flow->bytes;
  for (size_t k = 0; k < used; ++k) {
    const auto [own_level, i] = order[k];
    const int64_t room = std::max<int64_t>(0, level - own_level);
    flow->parts[i] = std::min(left, BytesIn(room, ports.outlet(flow->outlets[i]).bytes_per_s));
    left -= flow->parts[i];
  }
  flow->parts[order[0].second] += left;  // what rounding down left over
  for (size_t i = 0; i < count; ++i) sent->Add(flow->outlets[i], flow->parts[i]);
}

std::vector<uint32_t> FillingOrder(const std::vector<Flow>& flows) {
  std::vector<uint32_t> order(flows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return flows[a].outlets.size() < flows[b].outlets.size();
  });
  return order;
}

void WaterFill(const Ports& ports, std::vector<Flow>* flows, PortBytes* sent) {
  const std::vector<uint32_t> order = FillingOrder(*flows);
  int64_t total = 0;
  for (const Flow& flow : *flows) total += flow.bytes;
  std::vector<int64_t> before;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    int64_t moved = 0;
    for (const uint32_t id : order) {
      Flow& flow = (*flows)[id];
      if (pass > 0 && flow.outlets.size() == 1) continue;
      before = flow.parts;
      before.resize(flow.outlets.size(), 0);
      FillFlow(ports, &flow, sent);
      moved += Moved(before, flow.parts);
    }
    if (moved <= total / 10'000) break;
  }
}

}  // namespace reshard
