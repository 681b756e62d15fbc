// Param names are unique on every rank, `shares` included.
#ifndef RESHARD_COMPILER_LAYOUT_DUPLICATES_H_
#define RESHARD_COMPILER_LAYOUT_DUPLICATES_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/layout_data.h"

namespace reshard {

// Returns false after at least one error was reported.
[[nodiscard]] bool CheckParamNames(const Layout& layout, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_DUPLICATES_H_
