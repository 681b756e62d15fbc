// Sets of ranks as parts of sentences.
#ifndef RESHARD_COMPILER_TRANSFER_NAME_RANKS_H_
#define RESHARD_COMPILER_TRANSFER_NAME_RANKS_H_

#include <string>

#include "runtime/base/rank_set.h"

namespace reshard {

// "rank 3", "ranks 0-7": for people, at most about 60 characters.
std::string NameRanks(const RankList& ranks);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_NAME_RANKS_H_
