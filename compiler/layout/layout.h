// Layouts from specs: a Layout says where every byte of one side is stored (layout_data.h).
#ifndef RESHARD_COMPILER_LAYOUT_LAYOUT_H_
#define RESHARD_COMPILER_LAYOUT_LAYOUT_H_

#include <cstdint>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/limits.h"
#include "compiler/layout/logical_table.h"

namespace reshard {

// Resolves one side. Every piece made and value tried is charged to `max_pieces`; more are the
// error `too-many-pieces`.
[[nodiscard]] bool BuildLayout(const LayoutSpec& spec, const LogicalTable& table,
                               Diagnostics* diags, Layout* out, int64_t max_pieces = kMaxPieces);

// Checks that need a finished layout: `expect` points and `scale_of` alignment.
[[nodiscard]] bool CheckExpectations(const LayoutSpec& spec, const LogicalTable& table,
                                     const Layout& layout, Diagnostics* diags);
[[nodiscard]] bool CheckScales(const LogicalTable& table, const Layout& layout, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LAYOUT_H_
