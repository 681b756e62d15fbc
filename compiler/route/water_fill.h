// Water-filling: who sends how much, so that the busiest port is as little busy as possible.
//
// Each flow may leave through any of its outlets in any split. One flow is dealt as water into
// vessels: the least busy outlets first, up to a common level. Repeated over all flows this
// descends to the least busy assignment; it ends when a certificate says that the busiest outlet
// cannot be less busy. All in integers, ties to the lowest outlet.
#ifndef RESHARD_COMPILER_ROUTE_WATER_FILL_H_
#define RESHARD_COMPILER_ROUTE_WATER_FILL_H_

#include <cstdint>
#include <vector>

#include "compiler/route/ports.h"

namespace reshard {

struct Flow {
  std::vector<OutletId> outlets;  // unique, not empty; ties go to the first
  int64_t bytes = 0;
  std::vector<int64_t> parts;  // per outlet, adding up to `bytes`; empty before the first filling
};

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
