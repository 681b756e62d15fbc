// Matching: who takes from whom in one round.
//
// Where senders are as busy as receivers, a round in which a receiver finds all of its senders
// taken is lost to it, and to some sender, too. A taker that finds no room displaces others that
// can take elsewhere: augmenting paths, as in Kuhn's algorithm for bipartite matchings.
#ifndef RESHARD_COMPILER_SCHEDULE_MATCHING_H_
#define RESHARD_COMPILER_SCHEDULE_MATCHING_H_

#include <cstdint>
#include <vector>

namespace reshard {

struct Taker {
  int64_t bytes = 0;
  std::vector<uint32_t> givers;  // the preferred one first
};

// Returns the giver of each taker, or kNone. Earlier takers come first: one that got something
// keeps something. A giver gives at most its `room_bytes`, or everything to one taker. `work` goes
// down by the givers looked at; where it is used up nobody is displaced any more.
std::vector<uint32_t> MatchTakers(const std::vector<Taker>& takers,
                                  const std::vector<int64_t>& room_bytes, int64_t* work);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_MATCHING_H_
