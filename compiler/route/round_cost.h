// How many rounds are worth what one costs (Topology::round_ns). Routing weighs tree depths with
// it, and the schedule cuts slices with it.
#ifndef RESHARD_COMPILER_ROUTE_ROUND_COST_H_
#define RESHARD_COMPILER_ROUTE_ROUND_COST_H_

#include <algorithm>
#include <cstdint>

namespace reshard {

inline constexpr int64_t kDefaultSliceBytes = int64_t{64} << 20;
inline constexpr int64_t kMinSliceBytes = int64_t{64} << 10;  // below it latency is all that counts

// Rounds for a port that is busy for `busy_ns` with `bytes`, at the head of pipelines of `depth`
// stages: at least so many that a round moves `slice_bytes`; more where filling the pipeline would
// cost more than the added rounds, T = (R + depth - 1) * (busy / R + round).
inline int64_t WantedRounds(int64_t bytes, int64_t busy_ns, int64_t depth, int64_t slice_bytes,
                            int64_t round_ns) {
  const int64_t fewest = std::max<int64_t>(1, (bytes + slice_bytes - 1) / slice_bytes);
  const int64_t most = std::max<int64_t>(fewest, bytes / kMinSliceBytes);
  // Packing and copying out are stages of the pipeline, too.
  const int64_t ratio = (depth + 1) * (busy_ns / round_ns);
  int64_t best = 1;  // the square root of `ratio`, rounded up to a step of 1/16
  while (best * best < ratio) best += std::max<int64_t>(1, best / 16);
  // More rounds are more messages in the plan: not for a few per cent of the fill time.
  return best < 2 * fewest ? fewest : std::min(best, most);
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_ROUND_COST_H_
