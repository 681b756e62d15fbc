// Water-filling: who sends how much, so that the busiest port is as little busy as possible.
//
// Each flow may leave through any of its outlets in any split. One flow is dealt as water into
// vessels: the least busy outlets first, up to a common level. Repeated over all flows this
// descends to the least busy assignment; it ends when a certificate says that the busiest outlet
// cannot be less busy. All in integers, ties to the lowest outlet.
//
// Where uplinks limit, a flow has a group that it goes to: what outlets of another group send
// passes the uplinks of both, which fill up to the level, too. Vessels then are nested: an outlet's
// bytes pass its group's way out, and those of all other groups the way in.
#ifndef RESHARD_COMPILER_ROUTE_WATER_FILL_H_
#define RESHARD_COMPILER_ROUTE_WATER_FILL_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "compiler/route/ports.h"

namespace reshard {

struct Flow {
  std::vector<OutletId> outlets;  // unique, not empty; ties go to the first
  int64_t bytes = 0;
  std::vector<int64_t> parts;  // per outlet, adding up to `bytes`; empty before the first filling
  // The groups that receive it, where uplinks are to be counted: the outlets of these pass none,
  // and those of others the ways into the first. kNone: ranks outside all groups.
  std::vector<GroupId> to_groups = {};
  // Outlets of other groups send only what keeps those of these for longer than this busy.
  int64_t away_from_ps = 0;

  bool IsAway(GroupId group) const {
    return std::find(to_groups.begin(), to_groups.end(), group) == to_groups.end();
  }
};

// Adds what outlet `index` of a flow sends, and what of it passes uplinks.
void ChargeFlow(const Ports& ports, const Flow& flow, size_t index, int64_t bytes, PortBytes* sent);

// What the outlets of a flow, and the uplinks that they pass, take until they are busy for
// `level_ps`.
int64_t RoomBelow(const Ports& ports, const Flow& flow, int64_t level_ps, const PortBytes& sent);
// Deals one flow anew. `sent` holds the flow's present parts, and the new ones afterwards.
void FillFlow(const Ports& ports, Flow* flow, PortBytes* sent);
// Deals all flows anew until hardly anything moves and the busiest outlet is within 1 / 10,000 of
// what no assignment can be below, or, where outlets share ports, does not become less busy any
// more. `sent` may hold other traffic; it does not hold these flows yet.
void WaterFill(const Ports& ports, std::vector<Flow>* flows, PortBytes* sent);

// Flows with fewer outlets first: the order in which they are dealt.
std::vector<uint32_t> FillingOrder(const std::vector<Flow>& flows);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_WATER_FILL_H_
