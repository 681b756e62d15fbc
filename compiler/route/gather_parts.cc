#include "compiler/route/gather_parts.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/route/round_cost.h"

namespace reshard {
namespace {

// A part is small below a slice, and below what a port sends in this part of the busiest one's
// time.
constexpr int64_t kSmallPart = 400;

// Of outlets of one group: what passes uplinks stays the same.
void GatherSome(const Ports& ports, int64_t busy_ps, int64_t least,
                const std::vector<uint32_t>& small, Flow* flow, PortBytes* sent) {
  if (small.size() < 2) return;
  int64_t left = 0;
  for (const uint32_t i : small) {
    left += flow->parts[i];
    sent->Add(flow->outlets[i], -flow->parts[i]);
  }
  std::vector<std::pair<int64_t, uint32_t>> order;  // level without the part, index
  for (const uint32_t i : small) order.emplace_back(sent->Level(flow->outlets[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> parts = flow->parts;
  for (const auto& [level, i] : order) {
    // Outlets can share ports: the level may have risen.
    const int64_t room_ps = std::max<int64_t>(0, busy_ps - sent->Level(flow->outlets[i]));
    const int64_t room = BytesIn(room_ps, ports.outlet(flow->outlets[i]).bytes_per_s);
    parts[i] = std::min({least, left, room});
    if (left - parts[i] < least / 2 && left <= room) parts[i] = left;
    sent->Add(flow->outlets[i], parts[i]);
    left -= parts[i];
  }
  if (left == 0) {
    flow->parts = std::move(parts);
    return;
  }
  for (const uint32_t i : small) sent->Add(flow->outlets[i], flow->parts[i] - parts[i]);
}

}  // namespace

void GatherParts(const Ports& ports, int64_t busy_ps, Flow* flow, PortBytes* sent) {
  const int64_t rate = ports.outlet(flow->outlets[0]).bytes_per_s;
  for (const OutletId outlet : flow->outlets) {
    if (ports.outlet(outlet).bytes_per_s != rate) return;
  }
  const int64_t least = std::min(kDefaultSliceBytes, BytesIn(busy_ps / kSmallPart, rate));
  std::map<GroupId, std::vector<uint32_t>> small;
  for (uint32_t i = 0; i < flow->parts.size(); ++i) {
    if (flow->parts[i] == 0 || flow->parts[i] >= least) continue;
    small[flow->to_groups.empty() ? 0 : ports.group_of_outlet(flow->outlets[i])].push_back(i);
  }
  for (const auto& [group, indices] : small) {
    GatherSome(ports, busy_ps, least, indices, flow, sent);
  }
}

}  // namespace reshard
