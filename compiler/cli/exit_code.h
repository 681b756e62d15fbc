// Exit codes of the command line, and how diagnostics map to them.
#ifndef RESHARD_COMPILER_CLI_EXIT_CODE_H_
#define RESHARD_COMPILER_CLI_EXIT_CODE_H_

#include <cstddef>

#include "compiler/diag/diagnostics.h"

namespace reshard {

// How many errors a command prints unless --max-errors says otherwise.
inline constexpr size_t kDefaultMaxErrors = 20;
inline constexpr size_t kLargestMaxErrors = 1'000'000;

enum class ExitCode : int {
  kYes = 0,          // done, or the answer is yes
  kNo = 1,           // understood, and the answer is no: infeasible, violated, different
  kCannotJudge = 2,  // usage, unreadable or malformed input
  kOurBug = 3,
};

// kYes without errors; kNo when every error is a judgement about well-formed inputs (a tensor that
// nobody holds, a staging limit that is too small); else kCannotJudge.
ExitCode ExitCodeFor(const Diagnostics& diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_EXIT_CODE_H_
