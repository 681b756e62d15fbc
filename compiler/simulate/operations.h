// SimOperations: all that the ranks of a plan do, as ExpandProgram defines it, in the form that the
// simulation runs: flat lists, and per rank the rounds in which it does something.
#ifndef RESHARD_COMPILER_SIMULATE_OPERATIONS_H_
#define RESHARD_COMPILER_SIMULATE_OPERATIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Ranks are indices into plan.ranks.
struct SimMessage {
  uint32_t round = 0;
  uint32_t src = 0;
  uint32_t dst = 0;
  uint32_t ready_ends = 0;  // 2: both ranks wait for nothing but each other
  int64_t bytes = 0;
};
// What `reader` copies out of what `lander` received in `round`.
struct SimCopy {
  uint32_t round = 0;
  uint32_t lander = 0;
  uint32_t reader = 0;
  uint32_t ready_ends = 0;  // 2: the bytes have landed, and the reader has entered the next round
  bool done = false;
  int64_t bytes = 0;
};
// What a rank packs for `round`.
struct SimPack {
  uint32_t rank = 0;
  uint32_t round = 0;
  int64_t bytes = 0;
};

// A round in which a rank does something: sends, receives or packs, or copies what landed in the
// round before. Ranges [first, end) of the rank's own lists below.
struct SimStep {
  uint32_t round = 0;
  uint32_t first_message = 0, message_end = 0;
  uint32_t first_read = 0, read_end = 0;
  uint32_t pack = kNoId;
  bool lands = false;  // writes its receive slot
};

// Lists of numbers, one per rank, each rising by round.
class PerRank {
 public:
  // Number i belongs to rank_of(i), for i < count.
  template <typename RankOf>
  void Build(size_t rank_count, size_t count, const RankOf& rank_of) {
    first_.assign(rank_count + 1, 0);
    for (size_t i = 0; i < count; ++i) ++first_[rank_of(i) + 1];
    for (size_t r = 0; r < rank_count; ++r) first_[r + 1] += first_[r];
    numbers_.resize(count);
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (size_t i = 0; i < count; ++i) numbers_[next[rank_of(i)]++] = static_cast<uint32_t>(i);
  }
  std::span<const uint32_t> operator[](uint32_t rank) const {
    return {numbers_.data() + first_[rank], first_[rank + 1] - first_[rank]};
  }

 private:
  std::vector<uint32_t> first_, numbers_;
};

struct SimOperations {
  std::vector<SimMessage> messages;  // rising by round, like the others
  std::vector<SimCopy> copies;
  std::vector<SimPack> packs;
  PerRank reads, landings;                          // of copies: by reader, by lander
  std::vector<std::vector<SimStep>> steps;          // per rank, rising by round
  std::vector<std::vector<uint32_t>> own_messages;  // per rank: sends and receives by round
};

// Operations of rounds [first_round, end_round).
SimOperations CollectOperations(const Plan& plan, uint32_t first_round, uint32_t end_round);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_OPERATIONS_H_
