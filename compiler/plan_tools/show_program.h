// `show --rank R`: the program of one rank, round by round.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SHOW_PROGRAM_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SHOW_PROGRAM_H_

#include <cstddef>
#include <ostream>

#include "compiler/plan_tools/text_table.h"
#include "runtime/base/rank_set.h"
#include "runtime/plan/plan.h"

namespace reshard {

// False when the plan has no such rank. At most `limit` operations (0: all); the rest is counted.
[[nodiscard]] bool ShowProgramText(const Plan& plan, Rank rank, const TextStyle& style,
                                   std::ostream& out);
// Schema "reshardc-show-rank/1", every operation.
[[nodiscard]] bool ShowProgramJson(const Plan& plan, Rank rank, std::ostream& out);
// Every operation, one a line under the head of its round.
[[nodiscard]] bool ShowProgramSteps(const Plan& plan, Rank rank, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SHOW_PROGRAM_H_
