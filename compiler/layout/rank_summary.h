// What each rank stores, in numbers: closed form over families, no tensor is visited.
#ifndef RESHARD_COMPILER_LAYOUT_RANK_SUMMARY_H_
#define RESHARD_COMPILER_LAYOUT_RANK_SUMMARY_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/layout_data.h"

namespace reshard {

struct RankStorage {
  Rank rank = 0;
  int64_t params = 0;
  int64_t bytes = 0;           // of all params, external ones and padding too
  int64_t external_bytes = 0;  // of those that the plan does not write
};
// One entry per rank of the layout, rising.
std::vector<RankStorage> SummarizeRanks(const Layout& layout);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_RANK_SUMMARY_H_
