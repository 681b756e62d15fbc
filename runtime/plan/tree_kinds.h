// Kinds of trees and their names.
#ifndef RESHARD_RUNTIME_PLAN_TREE_KINDS_H_
#define RESHARD_RUNTIME_PLAN_TREE_KINDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reshard {

enum class PlanTreeKind : uint8_t {
#define RESHARD_TREE(name, text) name,
#include "runtime/plan/tree_kinds.def"
#undef RESHARD_TREE
};

inline constexpr std::array kTreeKindTexts = {
#define RESHARD_TREE(name, text) std::string_view(text),
#include "runtime/plan/tree_kinds.def"
#undef RESHARD_TREE
};

// `kind` is one of the kinds.
constexpr std::string_view TreeKindText(PlanTreeKind kind) {
  return kTreeKindTexts[static_cast<size_t>(kind)];
}

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_TREE_KINDS_H_
