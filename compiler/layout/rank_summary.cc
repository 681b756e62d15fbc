#include "compiler/layout/rank_summary.h"

#include <algorithm>

namespace reshard {

std::vector<RankStorage> SummarizeRanks(const Layout& layout) {
  std::vector<RankStorage> by_set(layout.rank_sets.count());
  for (const ParamFamily& family : layout.families) {
    RankStorage& sum = by_set[family.ranks];
    const int64_t count = family.instance_count();
    sum.params += count;
    sum.bytes += count * family.bytes;
    if (family.external) sum.external_bytes += count * family.bytes;
  }
  std::vector<RankStorage> result;
  for (const Rank rank : layout.ranks) result.push_back({rank, 0, 0, 0});
  for (RankSetId set = 0; set < by_set.size(); ++set) {
    if (by_set[set].params == 0) continue;
    for (const Rank rank : layout.rank_sets[set]) {
      const auto it = std::lower_bound(result.begin(), result.end(), rank,
                                       [](const RankStorage& s, Rank r) { return s.rank < r; });
      it->params += by_set[set].params;
      it->bytes += by_set[set].bytes;
      it->external_bytes += by_set[set].external_bytes;
    }
  }
  return result;
}

}  // namespace reshard
