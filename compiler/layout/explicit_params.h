// explicit[]: params given piece by piece.
#ifndef RESHARD_COMPILER_LAYOUT_EXPLICIT_PARAMS_H_
#define RESHARD_COMPILER_LAYOUT_EXPLICIT_PARAMS_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/families.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/scope.h"

namespace reshard {

// Adds the families of all entries. Returns false after at least one error was reported.
[[nodiscard]] bool BuildExplicitParams(const LayoutSpec& spec, const LogicalTable& table,
                                       const SpecScope& globals, FamilyBuilder* families,
                                       PieceBudget* budget, Diagnostics* diags, Layout* out);

// "64-127,130": rising, unique. Returns false when malformed or too long.
[[nodiscard]] bool ParseRankList(std::string_view text, RankList* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_EXPLICIT_PARAMS_H_
