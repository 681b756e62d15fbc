// BusiestSets: which senders are busiest when everything is sent as evenly as its holders allow.
//
// What only members of a set hold has to leave through the set. Dealt evenly, the busiest units are
// busy with nothing but such bytes, so the sets of the units above some level are where cut
// witnesses are tight.
#ifndef RESHARD_COMPILER_ROUTE_BUSIEST_SETS_H_
#define RESHARD_COMPILER_ROUTE_BUSIEST_SETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reshard {

struct UnitDemand {
  std::vector<uint32_t> units;  // any of which can send it
  int64_t bytes = 0;
};

// At most `count` sets of several units, each rising, the busiest first. Units without bandwidth
// send nothing.
std::vector<std::vector<uint32_t>> BusiestSets(const std::vector<UnitDemand>& demands,
                                               const std::vector<int64_t>& unit_bytes_per_s,
                                               size_t count);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_BUSIEST_SETS_H_
