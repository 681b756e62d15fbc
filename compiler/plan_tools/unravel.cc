#include "compiler/plan_tools/unravel.h"

#include <cstddef>

namespace reshard {

std::vector<int64_t> Unravel(int64_t number, const std::vector<int64_t>& extents) {
  std::vector<int64_t> index(extents.size());
  for (size_t d = extents.size(); d-- > 0;) {
    index[d] = number % extents[d];
    number /= extents[d];
  }
  return index;
}

}  // namespace reshard
