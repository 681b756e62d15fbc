// Overlay: one division of bytes out of several.
//
// Each domain has its own wish which rank lands how much of the same bytes. Laid over each other,
// and cut wherever one of them has an end, they give runs with one rank of each domain, in which
// every rank has what was wished: at most as many runs as there are ranks.
#ifndef RESHARD_COMPILER_ROUTE_OVERLAY_H_
#define RESHARD_COMPILER_ROUTE_OVERLAY_H_

#include <cstdint>
#include <vector>

namespace reshard {

struct OverlaidRun {
  std::vector<uint32_t> parts;  // per division the index of its part
  int64_t bytes = 0;            // more than 0
};

// `divisions`: per division the bytes of its parts, with the same sum.
std::vector<OverlaidRun> Overlay(const std::vector<std::vector<int64_t>>& divisions);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_OVERLAY_H_
