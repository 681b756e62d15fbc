// GateLimit: what stands behind the '<' or '>' of a gate; see diff_gates.h for the grammar.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_GATE_LIMIT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_GATE_LIMIT_H_

#include <cstdint>
#include <string_view>

#include "compiler/plan_tools/plan_diff.h"
#include "runtime/base/status.h"

namespace reshard {

inline constexpr int64_t kPercentUnits = 1'000;  // of a percent

struct GateLimit {
  bool relative = false;  // to the first plan
  bool percent = false;
  int64_t value = 0;  // in the figure's unit, or thousandths of a percent; with its sign
};

// What may stand around names, signs, numbers and units of gates.
inline bool IsGateSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// `text` from its first character on that is none.
std::string_view WithoutSpaces(std::string_view text);

// "+5%", "25.6us", "-0.5KiB". The error goes on after "gate '...' ".
StatusOr<GateLimit> ParseGateLimit(FigureUnit unit, std::string_view text);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_GATE_LIMIT_H_
