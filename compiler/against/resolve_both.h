// ResolveBoth: two layouts of one side, resolved over one table of tensors, so that an element of
// the model is the same axes and indices in both.
#ifndef RESHARD_COMPILER_AGAINST_RESOLVE_BOTH_H_
#define RESHARD_COMPILER_AGAINST_RESOLVE_BOTH_H_

#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/logical_table.h"

namespace reshard {

struct BothLayouts {
  LogicalTable table;
  Layout mine, theirs;
};

// `layouts` is the one to compare and, if given, that of the job's other side, which may declare
// the tensors; `other` has the side of the first. Their `expect` points are checked.
[[nodiscard]] bool ResolveBoth(const std::vector<LayoutSpec>& layouts, const LayoutSpec& other,
                               Diagnostics* diags, BothLayouts* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_AGAINST_RESOLVE_BOTH_H_
