// Dealing: a line of items, each some bytes long, cut into consecutive parts of wished sizes.
//
// An item is cut only where the wished boundary lies well inside it; else the boundary moves to the
// item's nearer end. Boundaries are counted from the start of the line, so errors do not add up.
#ifndef RESHARD_COMPILER_ROUTE_DEAL_H_
#define RESHARD_COMPILER_ROUTE_DEAL_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace reshard {

struct Deal {
  uint32_t item = 0;
  uint32_t part = 0;
  int64_t begin = 0;   // in the item
  int64_t extent = 0;  // not 0
};

// `cut(item, at)` moves a cut inside an item to where one is permitted, at or below `at`. Items of
// zero bytes vanish. The parts' sizes add up to the items' bytes; a part may end up empty.
std::vector<Deal> DealOut(const std::vector<int64_t>& item_bytes,
                          const std::vector<int64_t>& part_bytes, int64_t min_split_bytes,
                          const std::function<int64_t(uint32_t, int64_t)>& cut);

// The same, but each item is dealt out by itself: every part gets its proportion of every item, as
// far as that can be split.
std::vector<Deal> DealOutEach(const std::vector<int64_t>& item_bytes,
                              const std::vector<int64_t>& part_bytes, int64_t min_split_bytes,
                              const std::function<int64_t(uint32_t, int64_t)>& cut);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_DEAL_H_
