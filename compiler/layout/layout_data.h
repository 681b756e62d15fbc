// Layout: where every byte of one side is stored.
//
// A ParamFamily is a set of equal param buffers: the same on every rank of `ranks`, one instance
// per value of its loops. A Place says which elements of a super-tensor a family stores, and where
// in its buffers: a nest of digits per axis, an affine map and never a list of elements. The places
// and fills of a family cover each byte of its buffer exactly once.
// Immutable once built. Grows with templates times distinct shards, not with ranks times tensors.
#ifndef RESHARD_COMPILER_LAYOUT_LAYOUT_DATA_H_
#define RESHARD_COMPILER_LAYOUT_LAYOUT_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/logical_table.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/rank_set.h"

namespace reshard {

using FamilyId = uint32_t;

struct ParamFamily {
  NamePattern name;                 // holes over the family's loops
  std::vector<NamePattern> shares;  // further names of the same buffer
  std::vector<int64_t> loop_begin;  // instances: row-major over these ranges
  std::vector<int64_t> loop_extent;
  RankSetId ranks = 0;
  std::vector<int64_t> shape;  // of one instance
  DType dtype = DType::kBf16;
  int64_t bytes = 0;            // of one instance
  bool external = false;        // exists, but the plan does not write it
  uint32_t template_index = 0;  // params[] first, then explicit[]
  Span span;

  int64_t instance_count() const;
};

// Along one axis of the super-tensor a place holds the indices begin + sum(k_i * step_i),
// 0 <= k_i < extent_i, all distinct. Moving k_i by one moves `stride_bytes` inside the buffer and
// `instance_stride` instances. An axis held at a single index has no digit.
struct PlaceDigit {
  int64_t extent = 1;
  int64_t step = 1;
  int64_t stride_bytes = 0;
  int64_t instance_stride = 0;
};
struct PlaceAxis {
  int64_t begin = 0;
  std::vector<PlaceDigit> digits;
};
struct Place {
  SuperId super = 0;
  FamilyId family = 0;
  int64_t base_bytes = 0;  // of the element with all k_i = 0
  int64_t base_instance = 0;
  std::vector<PlaceAxis> axes;  // one per axis of the super-tensor
};

// Bytes of every instance of a family that no tensor covers: zeroed at each execution, or kept.
struct Fill {
  FamilyId family = 0;
  FillRule rule = FillRule::kZero;
  int64_t base_bytes = 0;
  struct Dim {
    int64_t extent = 1;
    int64_t stride_bytes = 0;
  };
  std::vector<Dim> dims;  // outermost first; the last is contiguous bytes (stride 1)
};

struct Mesh {
  std::string name;
  std::vector<std::string> axes;
  std::vector<int64_t> shape;
  std::vector<Rank> ranks;  // row-major
  Span span;                // where the file declares it
};

struct Layout {
  Side side = Side::kSource;
  uint32_t file = Span::kNoFile;
  std::vector<Mesh> meshes;
  RankList ranks;  // every rank of every mesh and explicit entry, rising
  bool colocated = false;
  RankSetTable rank_sets;
  std::vector<ParamFamily> families;
  std::vector<Place> places;
  std::vector<Fill> fills;
  std::vector<GlobSpec> unused;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LAYOUT_DATA_H_
