// Unravel: from the number of an element, or of an instance, to its index.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_UNRAVEL_H_
#define RESHARD_COMPILER_PLAN_TOOLS_UNRAVEL_H_

#include <cstdint>
#include <vector>

namespace reshard {

// The index in a shape, row-major, of what has this number there.
std::vector<int64_t> Unravel(int64_t number, const std::vector<int64_t>& extents);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_UNRAVEL_H_
