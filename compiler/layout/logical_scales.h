// Block scales of a table: which tensors they belong to, and whether their shapes fit.
#ifndef RESHARD_COMPILER_LAYOUT_LOGICAL_SCALES_H_
#define RESHARD_COMPILER_LAYOUT_LOGICAL_SCALES_H_

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/logical_boxes.h"
#include "compiler/layout/logical_index.h"
#include "compiler/layout/logical_table.h"

namespace reshard {

// A `scale_of` whose tensor is looked up once all tensors are known.
struct PendingScale {
  SuperId super = 0;  // the scale
  NameBox tensor;
  std::vector<int64_t> block;
  Span span;
};

// Sets SuperTensor::scale_of. Returns false after at least one error was reported.
[[nodiscard]] bool ResolveScales(const std::vector<PendingScale>& pending, LogicalIndex* index,
                                 Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LOGICAL_SCALES_H_
