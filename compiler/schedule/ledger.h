// Ledger: what ranks do in the rounds to come, for the few ranks where it may become too much.
//
// A slice that enters its tree in round r is received at depth d in round r + d and forwarded in
// r + d + 1. Most ranks are in so few trees that every one of these may have a slice in every
// round; only the others are written down. It also keeps two messages of one round from having the
// same sender and receiver.
#ifndef RESHARD_COMPILER_SCHEDULE_LEDGER_H_
#define RESHARD_COMPILER_SCHEDULE_LEDGER_H_

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/route/ports.h"
#include "compiler/schedule/slices.h"

namespace reshard {

class Ledger {
 public:
  // `recv_bytes`: per site, what it may receive in a round.
  Ledger(const Ports& ports, const std::vector<ScheduledTree>& trees,
         const std::vector<int64_t>& recv_bytes);

  // May slice `slice` of tree `tree` start in `round`? Rounds only grow from call to call.
  bool Fits(uint32_t tree, const DraftSlice& slice, uint32_t round);
  // False: no slice of the tree may.
  bool MayStart(uint32_t tree, uint32_t round);
  void Take(uint32_t tree, const DraftSlice& slice, uint32_t round);
  // After so many rounds without a slice nothing written down stands against one any more.
  uint32_t horizon() const { return horizon_; }

 private:
  // What a slice of a tree does to a watched rank, this many rounds after it starts.
  struct Effect {
    uint32_t watched = 0;
    uint32_t delay = 0;
    bool receives = false;  // else forwards
    bool is_head = false;   // receives one message per portion
    uint32_t messages = 1;  // of others: a parent has one for each child
  };
  struct Forward {
    uint32_t pair = 0;
    uint32_t delay = 0;
  };
  struct Load {
    uint32_t round = 0;  // whose load it is; older ones are void
    uint32_t ops = 0;
    int64_t bytes = 0;
  };

  void FindWatched(const std::vector<int64_t>& recv_bytes);
  void FindEffects();
  void FindSharedPairs();
  static uint64_t PairKey(Rank source, Rank destination) {
    return uint64_t{source} << 32 | destination;
  }
  uint32_t PairId(Rank source, Rank destination) const;  // kNone unless shared
  // Pairs with a message in a round.
  struct BusyPairs {
    uint32_t round = 0;  // whose pairs these are; older ones are void
    std::unordered_set<uint32_t> pairs;
  };
  BusyPairs& BusyIn(uint32_t round);
  bool IsBusy(uint32_t pair, uint32_t round) { return BusyIn(round).pairs.contains(pair); }
  bool HaveRoom(uint32_t tree, uint32_t head_ops, int64_t extent, uint32_t round);
  bool HasRoom(const Effect& effect, uint32_t head_ops, int64_t extent, uint32_t round);
  Load& At(uint32_t watched, uint32_t round);
  Load& SendsOf(SiteId site, uint32_t round);

  const Ports& ports_;
  const std::vector<ScheduledTree>& trees_;
  std::vector<int64_t> watched_bytes_;        // per watched rank: what it may receive in a round
  uint32_t horizon_ = 2;                      // longest delay of an effect, and one
  std::vector<uint32_t> steady_ops_;          // per site: in every round, were all trees to run
  std::vector<uint32_t> watched_;             // per site: its number, or kNone
  std::vector<std::vector<Effect>> effects_;  // per tree
  std::vector<Load> loads_;                   // per watched rank a ring of horizon_ rounds
  std::vector<Load> sends_;                   // per site
  std::unordered_map<uint64_t, uint32_t> shared_pairs_;  // for lookup only
  std::vector<std::vector<Forward>> forwards_;           // per tree
  std::vector<BusyPairs> busy_;                          // a ring of horizon_ rounds
  std::vector<int64_t> least_extents_;                   // per tree: of its smallest slice
  std::vector<uint32_t> last_refusals_;  // per tree: the effect that last had no room
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_LEDGER_H_
