// Kinds of cut witnesses: their names and what they are about.
#ifndef RESHARD_RUNTIME_PLAN_CUT_KINDS_H_
#define RESHARD_RUNTIME_PLAN_CUT_KINDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reshard {

enum class PlanCutKind : uint8_t {
#define RESHARD_CUT(name, text, members, direction) name,
#include "runtime/plan/cut_kinds.def"
#undef RESHARD_CUT
};

// What the members of a cut are.
enum class CutMembers : uint8_t { kNothing, kDomains, kGroups, kRanks };

struct CutKindFacts {
  std::string_view text;  // "group-ingress"
  CutMembers members = CutMembers::kNothing;
  std::string_view direction;  // "ingress of"
};

inline constexpr std::array kCutKinds = {
#define RESHARD_CUT(name, text, members, direction) \
  CutKindFacts{text, CutMembers::members, direction},
#include "runtime/plan/cut_kinds.def"
#undef RESHARD_CUT
};

// `kind` is one of the kinds.
constexpr const CutKindFacts& FactsOf(PlanCutKind kind) {
  return kCutKinds[static_cast<size_t>(kind)];
}

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_CUT_KINDS_H_
