// OverlappingPairs: which boxes of two lists share elements, without comparing all with all.
#ifndef RESHARD_COMPILER_TRANSFER_OVERLAP_PAIRS_H_
#define RESHARD_COMPILER_TRANSFER_OVERLAP_PAIRS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/transfer/box.h"

namespace reshard {

using BoxPair = std::pair<uint32_t, uint32_t>;

// All (i, j) for which a[i] and b[j] overlap, rising. Boxes of one list may overlap each other.
// False when the budget ran out.
[[nodiscard]] bool OverlappingPairs(const BoxList& a, const BoxList& b, WorkBudget* budget,
                                    std::vector<BoxPair>* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_OVERLAP_PAIRS_H_
