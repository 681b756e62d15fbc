// Intervals along one dim: which of them hang together.
#ifndef RESHARD_COMPILER_TRANSFER_INTERVALS_H_
#define RESHARD_COMPILER_TRANSFER_INTERVALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reshard {

// [begin, end) of something that the caller numbers.
struct IntervalItem {
  int64_t begin = 0;
  int64_t end = 0;
  uint32_t item = 0;
};

// Sorts by (begin, item) and returns where each component starts: a maximal run of intervals that
// overlap, directly or through others of the run.
std::vector<size_t> IntervalComponents(std::vector<IntervalItem>* intervals);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_INTERVALS_H_
