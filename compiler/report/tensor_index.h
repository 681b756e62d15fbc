// TensorIndex: a plan's tensors and places for the page, from which its scripts answer "where does
// it come from" for any tensor.
//
// Names stay patterns and rank sets stay runs, so that 45,000 tensors on 8192 ranks are some
// hundred kilobytes.
#ifndef RESHARD_COMPILER_REPORT_TENSOR_INDEX_H_
#define RESHARD_COMPILER_REPORT_TENSOR_INDEX_H_

#include "runtime/plan/plan.h"

namespace reshard {

class JsonWriter;

// The member "tensors" of the object that is open in `json`:
//   supers    [{name, loops, shape, dtype, bytes, dims}]   dims: axis, weight, axis, weight, ...
//   params    [{side, name, loops, shape, bytes, ranks}]   ranks: of rank_sets; bytes: of an
//   element places    super, param, base bytes, base instance, then per dim begin, extent, stride
//   in bytes
//             and in instances; all one list
//   rank_sets text for people, then runs: start, count, stride, outer count, outer stride, ...
// A name is text, hole, text, hole, ..., text; a hole is its base and one factor per loop. Loops
// are begin, extent, begin, extent, ...
void WriteTensorIndex(const Plan& plan, JsonWriter* json);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_TENSOR_INDEX_H_
