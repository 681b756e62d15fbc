// Globs over tensor names: `*` stands for any text (dots too), `?` for one byte.
#ifndef RESHARD_COMPILER_TRANSFER_GLOB_H_
#define RESHARD_COMPILER_TRANSFER_GLOB_H_

#include <string_view>

namespace reshard {

// Takes time in the product of the lengths at most.
bool GlobMatches(std::string_view pattern, std::string_view name);

// Every name that `pattern` matches begins with this.
std::string_view GlobPrefix(std::string_view pattern);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_GLOB_H_
