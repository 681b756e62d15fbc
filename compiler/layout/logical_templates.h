// logical[]: templates to super-tensors.
#ifndef RESHARD_COMPILER_LAYOUT_LOGICAL_TEMPLATES_H_
#define RESHARD_COMPILER_LAYOUT_LOGICAL_TEMPLATES_H_

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/logical_index.h"
#include "compiler/layout/logical_scales.h"
#include "compiler/layout/scope.h"

namespace reshard {

// Adds the tensors of one side; those that the other side has declared before must agree. Each
// template box takes one of `entries_left`. Returns false after at least one error was reported.
[[nodiscard]] bool AddLogicalTemplates(const LayoutSpec& spec, const SpecScope& globals,
                                       int64_t* entries_left, LogicalIndex* index,
                                       std::vector<PendingScale>* scales, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LOGICAL_TEMPLATES_H_
