// Which members of a tree are how deep.
#ifndef RESHARD_COMPILER_SCHEDULE_TREE_LEVELS_H_
#define RESHARD_COMPILER_SCHEDULE_TREE_LEVELS_H_

#include <algorithm>
#include <bit>
#include <cstddef>

#include "runtime/plan/tree_kinds.h"

namespace reshard {

// Positions [first, last).
struct TreeLevel {
  size_t first = 0;
  size_t last = 0;
};

// The positions of a tree that are `depth` hops from its head; none below its last member.
inline TreeLevel LevelOf(PlanTreeKind kind, size_t depth, size_t member_count) {
  if (kind == PlanTreeKind::kChain) {
    return {std::min(depth, member_count), std::min(depth + 1, member_count)};
  }
  if (depth >= static_cast<size_t>(std::bit_width(member_count))) return {};
  const size_t first = (size_t{1} << depth) - 1;
  return {first, std::min(2 * first + 1, member_count)};
}

// Levels of a tree.
inline size_t LevelCount(PlanTreeKind kind, size_t member_count) {
  return kind == PlanTreeKind::kChain ? member_count
                                      : static_cast<size_t>(std::bit_width(member_count));
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_TREE_LEVELS_H_
