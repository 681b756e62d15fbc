#include "compiler/route/water_fill.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

constexpr int kMaxPasses = 240;
// The busiest outlet is this part above what cannot be less: close enough.
constexpr int64_t kClosed = 10'000;
constexpr Wide kPicosecondsPerSecond = 1'000'000'000'000;

// Bytes that changed their outlet.
int64_t Moved(const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  int64_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) moved += std::max<int64_t>(0, after[i] - before[i]);
  return moved;
}

// A lower bound of the busiest level, whatever the assignment: for the outlets above some level,
// what can leave through none but these, and what leaves through them anyway, over what they carry.
class Certificate {
 public:
  // `sent` holds other traffic only.
  Certificate(const Ports& ports, const std::vector<Flow>& flows, const PortBytes& sent)
      : ports_(ports), flows_(flows), place_(ports.outlet_count(), kNone) {
    std::vector<bool> used(ports.outlet_count(), false);
    for (const Flow& flow : flows) {
      for (const OutletId outlet : flow.outlets) used[outlet] = true;
    }
    for (OutletId outlet = 0; outlet < used.size(); ++outlet) {
      if (!used[outlet]) continue;
      outlets_.push_back(outlet);
      other_water_.push_back(Wide{sent.Level(outlet)} * ports.outlet(outlet).bytes_per_s);
    }
  }

  // Of the busiest outlet. `sent` holds the flows, too.
  int64_t Level(const PortBytes& sent) const {
    int64_t level = 0;
    for (const OutletId outlet : outlets_) level = std::max(level, sent.Level(outlet));
    return level;
  }

  bool IsClosed(const PortBytes& sent) {
    std::vector<std::pair<int64_t, uint32_t>> order;  // level, index
    for (uint32_t i = 0; i < outlets_.size(); ++i) {
      order.emplace_back(-sent.Level(outlets_[i]), i);
    }
    std::sort(order.begin(), order.end());
    for (uint32_t k = 0; k < order.size(); ++k) place_[outlets_[order[k].second]] = k;
    std::vector<Wide> forced(order.size(), 0);  // by the last outlet of a flow
    for (const Flow& flow : flows_) {
      uint32_t last = 0;
      for (const OutletId outlet : flow.outlets) last = std::max(last, place_[outlet]);
      forced[last] += Wide{flow.bytes} * kPicosecondsPerSecond;
    }
    Wide water = 0, rate = 0;
    int64_t least = 0;
    for (uint32_t k = 0; k < order.size(); ++k) {
      water += forced[k] + other_water_[order[k].second];
      rate += ports_.outlet(outlets_[order[k].second]).bytes_per_s;
      least = std::max(least, static_cast<int64_t>(water / rate));
    }
    const int64_t most = order.empty() ? 0 : -order[0].first;
    return most <= least + least / kClosed + 1;
  }

 private:
  const Ports& ports_;
  const std::vector<Flow>& flows_;
  std::vector<OutletId> outlets_;  // of all flows, rising
  std::vector<Wide> other_water_;  // per outlet of these: level times rate
  std::vector<uint32_t> place_;    // per outlet: among those sorted by level
};

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
  Certificate certificate(ports, *flows, *sent);
  int64_t total = 0;
  for (const Flow& flow : *flows) total += flow.bytes;
  int64_t level = INT64_MAX;
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
    if (moved == 0) break;
    if (moved > total / 10'000) continue;
    // Outlets that share ports may have no certificate: then as long as it helps.
    const int64_t level_before = std::exchange(level, certificate.Level(*sent));
    if (level >= level_before || certificate.IsClosed(*sent)) break;
  }
}

}  // namespace reshard
