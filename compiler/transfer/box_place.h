// BoxPlace: a place as a box.
//
// Steps of a place (every fourth expert, the heads of one KV group) become dims of their own, so
// that boxes are all that the following passes have to know.
#ifndef RESHARD_COMPILER_TRANSFER_BOX_PLACE_H_
#define RESHARD_COMPILER_TRANSFER_BOX_PLACE_H_

#include <cstdint>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// Index along `axis` = sum over the dims of that axis of (dim index * weight). An axis without
// steps has one dim of weight 1. Dims of an axis stand together, heaviest first.
struct RefinedDim {
  uint32_t axis = 0;
  int64_t weight = 1;
};

// A place as a box in refined dims. Element `index` lies in instance
// base_instance + sum((index_d - begin_d) * instance_stride_d), at byte
// base_bytes + sum((index_d - begin_d) * stride_bytes_d).
struct BoxPlace {
  Side side = Side::kSource;
  SuperId super = 0;
  FamilyId family = 0;  // of that side's layout
  RankSetId ranks = 0;
  int64_t base_bytes = 0;
  int64_t base_instance = 0;
  struct Dim {
    int64_t begin = 0;
    int64_t extent = 1;
    int64_t stride_bytes = 0;
    int64_t instance_stride = 0;
  };
  std::vector<Dim> dims;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_BOX_PLACE_H_
