// ElementCoverage: which elements of tensors boxes cover, and in how many copies.
//
// Boxes are products of index sets, which may have strides, so that neither corners nor volumes
// tell whether some boxes cover what others do. Axes are cut where the indices' ranges begin and
// end, and what lies between is looked at once, however many elements it has.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_ELEMENT_COVERAGE_H_
#define RESHARD_COMPILER_PLAN_TOOLS_ELEMENT_COVERAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/plan_tools/content_ids.h"

namespace reshard {

// 128 bits: elements of all tensors of a template fit.
__extension__ typedef unsigned __int128 ElementCount;

struct CoveredBox {
  std::vector<ContentIds::Id> axes;  // the indices along each axis: AxisRanges of tensor_parts.h
  int64_t copies = 1;                // ranks that hold it
};

// What the boxes of a second plan no longer cover of those of a first one.
struct CoverageChange {
  bool known = true;  // false: boxes are cut in too many ways to tell
  // Tensors: indices of the loop axes, which come first; without loop axes 0 or 1.
  int64_t lost = 0;   // with an element that no box covers any more
  int64_t fewer = 0;  // with an element of which there are fewer copies, or none
  ElementCount lost_elements = 0;
};

CoverageChange CompareCoverage(const std::vector<CoveredBox>& before,
                               const std::vector<CoveredBox>& after, size_t loop_axes,
                               const ContentIds& ids);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_ELEMENT_COVERAGE_H_
