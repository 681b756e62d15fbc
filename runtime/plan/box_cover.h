// Exact cover of a box by boxes, by the corner identity.
//
// The 2^d corners of a box, with alternating signs, determine it: signed corners of the parts equal
// those of the whole exactly when every element lies in one part. No element is looked at, and an
// overlap cannot make up for a gap.
#ifndef RESHARD_RUNTIME_PLAN_BOX_COVER_H_
#define RESHARD_RUNTIME_PLAN_BOX_COVER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace reshard {

// An element that does not lie in exactly one part.
struct BoxCoverFault {
  std::vector<int64_t> element;  // per dim
  int64_t part_count = 0;        // how many parts it lies in
};

struct BoxCoverResult {
  std::optional<BoxCoverFault> fault;
  bool exhausted = false;  // `charge` refused: nothing is known
};

// Boxes are begin and end of each dim, one pair after another; no part is empty and none reaches
// out of `whole`.
BoxCoverResult CheckBoxCover(size_t dim_count, const int64_t* whole,
                             const std::vector<const int64_t*>& parts,
                             const std::function<bool(uint64_t)>& charge);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_BOX_COVER_H_
