// Name order: how tables sort names. Numbers inside names count as numbers: "layers.9" <
// "layers.10".
#ifndef RESHARD_COMPILER_LAYOUT_NAME_ORDER_H_
#define RESHARD_COMPILER_LAYOUT_NAME_ORDER_H_

#include <string>
#include <string_view>

#include "runtime/base/name_pattern.h"

namespace reshard {

// The pattern without its numbers: "layers.{}.w". Tables have these as their first key, so that a
// template and the two that it is split into stand at the same place.
std::string NameWithHoles(const NamePattern& name);

// A total order: names that differ only in leading zeros are in the order of their bytes.
[[nodiscard]] bool NameLess(std::string_view a, std::string_view b);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_NAME_ORDER_H_
