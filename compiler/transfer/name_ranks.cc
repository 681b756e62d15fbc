#include "compiler/transfer/name_ranks.h"

namespace reshard {

std::string NameRanks(const RankList& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + DescribeRanks(ranks);
}

}  // namespace reshard
