#include "compiler/route/water_fill.h"

#include <algorithm>
#include <map>
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
    FindUplinks();
  }

  // Of the busiest outlet, or uplinks. `sent` holds the flows, too.
  int64_t Level(const PortBytes& sent) const {
    int64_t level = 0;
    for (const OutletId outlet : outlets_) level = std::max(level, sent.Level(outlet));
    for (const PortId uplink : uplinks_) level = std::max(level, sent.PortLevel(uplink));
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
    return Level(sent) <= most && most <= least + least / kClosed + 1;
  }

 private:
  // That the flows may pass.
  void FindUplinks() {
    const auto add = [&](PortId uplink) {
      if (uplink != kNone) uplinks_.push_back(uplink);
    };
    for (const Flow& flow : flows_) {
      if (flow.to_groups.empty()) continue;
      add(ports_.uplink_in(flow.to_groups[0]));
      for (const OutletId outlet : flow.outlets)
        add(ports_.uplink_out(ports_.group_of_outlet(outlet)));
    }
    std::sort(uplinks_.begin(), uplinks_.end());
    uplinks_.erase(std::unique(uplinks_.begin(), uplinks_.end()), uplinks_.end());
  }

  const Ports& ports_;
  const std::vector<Flow>& flows_;
  std::vector<OutletId> outlets_;  // of all flows, rising
  std::vector<Wide> other_water_;  // per outlet of these: level times rate
  std::vector<PortId> uplinks_;    // rising
  std::vector<uint32_t> place_;    // per outlet: among those sorted by level
};

// Bytes for some outlets of a flow, of which all pass the same uplinks or none.
void FillOutlets(const Ports& ports, const std::vector<uint32_t>& indices, int64_t bytes,
                 const PortBytes& sent, Flow* flow) {
  std::vector<std::pair<int64_t, uint32_t>> order;  // level, index
  for (const uint32_t i : indices) order.emplace_back(sent.Level(flow->outlets[i]), i);
  std::sort(order.begin(), order.end());
  // The common level of the k least busy outlets, for the first k that the water does not overflow.
  const size_t count = order.size();
  Wide water = Wide{bytes} * kPicosecondsPerSecond, rate = 0;
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
  int64_t left = bytes;
  for (size_t k = 0; k < used; ++k) {
    const auto [own_level, i] = order[k];
    const int64_t room = std::max<int64_t>(0, level - own_level);
    flow->parts[i] = std::min(left, BytesIn(room, ports.outlet(flow->outlets[i]).bytes_per_s));
    left -= flow->parts[i];
  }
  flow->parts[order[0].second] += left;  // what rounding down left over
}

// The outlets of a flow by group, as vessels: what each group can send up to a level.
class GroupVessels {
 public:
  GroupVessels(const Ports& ports, const PortBytes& sent, const Flow& flow)
      : ports_(ports), way_in_(MakeUplink(sent, ports.uplink_in(flow.to_groups[0]))) {
    std::map<GroupId, std::vector<uint32_t>> groups;
    for (uint32_t i = 0; i < flow.outlets.size(); ++i) {
      groups[ports.group_of_outlet(flow.outlets[i])].push_back(i);
    }
    for (auto& [group, indices] : groups) {
      Vessel& vessel = vessels_.emplace_back();
      vessel.own = !flow.IsAway(group);
      vessel.indices = std::move(indices);
      vessel.uplink = MakeUplink(sent, vessel.own ? kNone : ports.uplink_out(group));
      for (const uint32_t i : vessel.indices) {
        const OutletId outlet = flow.outlets[i];
        vessel.outlets.push_back({sent.Level(outlet), ports.outlet(outlet).bytes_per_s});
      }
    }
  }

  // What all groups can send up to a level.
  int64_t RoomBelow(int64_t level) const { return Own(level) + Away(level); }

  // Deals `bytes` over the groups.
  void Fill(int64_t bytes, int64_t away_from_ps, const PortBytes& sent, Flow* flow) const {
    const int64_t level = LeastLevel(
        [&](int64_t at) { return Own(at) + (at > away_from_ps ? Away(at) : 0) >= bytes; });
    const int64_t own = std::min(Own(level), bytes);
    // Other groups together may send more than gets in, or less than `away_from_ps` would let them.
    const int64_t away = bytes - own;
    const int64_t away_level = LeastLevel([&](int64_t at) { return AwayOut(at) >= away; });
    int64_t own_left = own, away_left = away;
    for (const Vessel& vessel : vessels_) {
      int64_t& left = vessel.own ? own_left : away_left;
      const int64_t part = std::min(left, Room(vessel, vessel.own ? level : away_level));
      left -= part;
      if (part > 0) FillOutlets(ports_, vessel.indices, part, sent, flow);
    }
  }

 private:
  struct Filled {
    int64_t level = 0;
    int64_t bytes_per_s = 0;  // 0: no limit
  };
  struct Vessel {
    bool own = false;  // of the group that receives
    std::vector<uint32_t> indices;
    std::vector<Filled> outlets;
    Filled uplink;
  };

  Filled MakeUplink(const PortBytes& sent, PortId port) const {
    if (port == kNone) return {};
    return {sent.PortLevel(port), ports_.bytes_per_s(port)};
  }
  static int64_t Below(const Filled& vessel, int64_t level) {
    return BytesIn(std::max<int64_t>(0, level - vessel.level), vessel.bytes_per_s);
  }
  static int64_t Limited(const Filled& uplink, int64_t level, int64_t bytes) {
    return uplink.bytes_per_s == 0 ? bytes : std::min(bytes, Below(uplink, level));
  }
  static int64_t Room(const Vessel& vessel, int64_t level) {
    int64_t bytes = 0;
    for (const Filled& outlet : vessel.outlets) bytes += Below(outlet, level);
    return Limited(vessel.uplink, level, bytes);
  }
  int64_t Own(int64_t level) const {
    int64_t bytes = 0;
    for (const Vessel& vessel : vessels_) bytes += vessel.own ? Room(vessel, level) : 0;
    return bytes;
  }
  int64_t AwayOut(int64_t level) const {
    int64_t bytes = 0;
    for (const Vessel& vessel : vessels_) bytes += vessel.own ? 0 : Room(vessel, level);
    return bytes;
  }
  int64_t Away(int64_t level) const { return Limited(way_in_, level, AwayOut(level)); }

  template <class Enough>
  static int64_t LeastLevel(const Enough& enough) {
    int64_t low = 0, high = 1;
    while (!enough(high)) {
      low = high;
      high *= 2;
    }
    while (low + 1 < high) {
      const int64_t middle = low + (high - low) / 2;
      (enough(middle) ? high : low) = middle;
    }
    return high;
  }

  const Ports& ports_;
  const Filled way_in_;
  std::vector<Vessel> vessels_;
};

}  // namespace

void ChargeFlow(const Ports& ports, const Flow& flow, size_t index, int64_t bytes,
                PortBytes* sent) {
  sent->Add(flow.outlets[index], bytes);
  const GroupId group = ports.group_of_outlet(flow.outlets[index]);
  if (!flow.to_groups.empty() && flow.IsAway(group)) {
    sent->AddUplinks(group, flow.to_groups[0], bytes);
  }
}

int64_t RoomBelow(const Ports& ports, const Flow& flow, int64_t level_ps, const PortBytes& sent) {
  if (!flow.to_groups.empty()) return GroupVessels(ports, sent, flow).RoomBelow(level_ps);
  int64_t bytes = 0;
  for (const OutletId outlet : flow.outlets) {
    const int64_t room_ps = level_ps - sent.Level(outlet);
    if (room_ps > 0) bytes += BytesIn(room_ps, ports.outlet(outlet).bytes_per_s);
  }
  return bytes;
}

void FillFlow(const Ports& ports, Flow* flow, PortBytes* sent) {
  const size_t count = flow->outlets.size();
  for (size_t i = 0; i < flow->parts.size(); ++i)
    ChargeFlow(ports, *flow, i, -flow->parts[i], sent);
  flow->parts.assign(count, 0);
  if (!flow->to_groups.empty()) {
    GroupVessels(ports, *sent, *flow).Fill(flow->bytes, flow->away_from_ps, *sent, flow);
  } else {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0U);
    FillOutlets(ports, all, flow->bytes, *sent, flow);
  }
  for (size_t i = 0; i < count; ++i) ChargeFlow(ports, *flow, i, flow->parts[i], sent);
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
