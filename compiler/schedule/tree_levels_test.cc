#include "compiler/schedule/tree_levels.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/program.h"
#include "runtime/plan/tree_kinds.h"

namespace reshard {
namespace {

constexpr PlanTreeKind kKinds[] = {
#define RESHARD_TREE(name, text) PlanTreeKind::name,
#include "runtime/plan/tree_kinds.def"
#undef RESHARD_TREE
};

// Hops from the head, walked from parent to parent.
size_t HopsOf(PlanTreeKind kind, uint32_t position) {
  size_t hops = 0;
  for (; position > 0; position = TreeParent(kind, position)) ++hops;
  return hops;
}

TEST_CASE("every kind of tree, to 70 members: a level is the positions of its depth") {
  for (const PlanTreeKind kind : kKinds) {
    for (size_t count = 1; count <= 70; ++count) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(count);
      std::vector<size_t> hops;
      size_t deepest = 0;
      for (uint32_t position = 0; position < count; ++position) {
        hops.push_back(HopsOf(kind, position));
        deepest = hops.back() > deepest ? hops.back() : deepest;
      }
      CHECK(LevelCount(kind, count) == deepest + 1);
      for (size_t depth = 0; depth < count + 3; ++depth) {
        const TreeLevel level = LevelOf(kind, depth, count);
        CAPTURE(depth);
        REQUIRE(level.first <= level.last);
        REQUIRE(level.last <= count + (level.first == level.last ? 1 : 0));
        for (size_t position = 0; position < count; ++position) {
          CHECK((position >= level.first && position < level.last) == (hops[position] == depth));
        }
      }
    }
  }
}

}  // namespace
}  // namespace reshard
