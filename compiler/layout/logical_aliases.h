// Second names of logical tensors.
#ifndef RESHARD_COMPILER_LAYOUT_LOGICAL_ALIASES_H_
#define RESHARD_COMPILER_LAYOUT_LOGICAL_ALIASES_H_

#include <cstdint>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/logical_index.h"
#include "compiler/layout/scope.h"

namespace reshard {

// Adds the aliases of one side, after all tensors. Each name that is written out takes one of
// `entries_left`. Returns false after an error was reported.
[[nodiscard]] bool AddAliases(const LayoutSpec& spec, const SpecScope& globals,
                              int64_t* entries_left, LogicalIndex* index, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LOGICAL_ALIASES_H_
