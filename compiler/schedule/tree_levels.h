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
  const bool has_stem = kind == PlanTreeKind::kStemBinary || kind == PlanTreeKind::kStemStar;
  if (has_stem) {
    if (depth == 0) return {0, std::min<size_t>(1, member_count)};
    const PlanTreeKind body =
        kind == PlanTreeKind::kStemStar ? PlanTreeKind::kStar : PlanTreeKind::kBinary;
    const TreeLevel level = LevelOf(body, depth - 1, member_count - 1);
    return {level.first + 1, level.last + 1};
  }
  if (kind == PlanTreeKind::kChain || depth == 0) {
    return {std::min(depth, member_count), std::min(depth + 1, member_count)};
  }
  if (kind == PlanTreeKind::kStar) return {1, depth == 1 ? std::max<size_t>(1, member_count) : 1};
  if (depth >= static_cast<size_t>(std::bit_width(member_count))) return {};
  const size_t first = (size_t{1} << depth) - 1;
  return {first, std::min(2 * first + 1, member_count)};
}

// Levels of a tree.
inline size_t LevelCount(PlanTreeKind kind, size_t member_count) {
  switch (kind) {
    case PlanTreeKind::kBinary:
      return static_cast<size_t>(std::bit_width(member_count));
    case PlanTreeKind::kStar:
      return std::min<size_t>(2, member_count);
    case PlanTreeKind::kStemBinary:
      return 1 + static_cast<size_t>(std::bit_width(member_count - 1));
    case PlanTreeKind::kStemStar:
      return 1 + std::min<size_t>(2, member_count - 1);
    case PlanTreeKind::kChain:
      break;
  }
  return member_count;
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_SCHEDULE_TREE_LEVELS_H_
