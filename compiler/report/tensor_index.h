// TensorIndex: a plan's tensors and places for the page, from which its scripts answer "where does
// it come from" for any tensor.
//
// Names stay patterns, rank sets stay runs, and what many rows have in common is written once: that
// makes 45,000 tensors with names of their own some two megabytes, and those of one template
// nothing at all.
#ifndef RESHARD_COMPILER_REPORT_TENSOR_INDEX_H_
#define RESHARD_COMPILER_REPORT_TENSOR_INDEX_H_

#include "runtime/plan/plan.h"

namespace reshard {

class JsonWriter;

// The member "tensors" of the object that is open in `json`. Lists of numbers are packed
// (number_pack.h) unless they are arrays. Loops are begin, extent, begin, extent, ...; a hole is
// its base and one factor per loop.
//   kinds        of super-tensors: loops, holes, shape, dtype, bytes (of an element), dims (axis,
//                weight, axis, weight, ...)
//   kind, names  of each super-tensor
//   param_kinds  of params: side (0 source, 1 destination), loops, holes, shape, bytes
//   param_kind, param_ranks (of rank_sets), param_names   of each param
//   place_kinds  per dim begin, extent, stride in bytes and in instances
//   places       signed: super-tensor and param, each less that of the place before; base bytes,
//                base instance, place kind
//   rank_sets    text for people, then runs: start, count, stride, outer count, outer stride, ...
// Names are {shared, text}: of each how many characters it shares with the one before, and the
// rest, one a line; tabs stand where a name has its holes.
void WriteTensorIndex(const Plan& plan, JsonWriter* json);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_TENSOR_INDEX_H_
