// Exact cover of a line of bytes by strided regions.
//
// A param is a line of bytes, its places and fills are nests of equal runs. Whether they cover each
// byte once is decided exactly, without listing bytes: the line is cut where nothing crosses, and
// what remains is folded along its widest stride until only runs are left. Regions that are boxes
// of some tensor stay symbolic; any others are unfolded, which costs steps of the budget.
#ifndef RESHARD_RUNTIME_PLAN_EXACT_COVER_H_
#define RESHARD_RUNTIME_PLAN_EXACT_COVER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace reshard {

// The bytes begin + sum(i_d * stride_d) + [0, run_bytes), 0 <= i_d < extent_d.
struct StridedRegion {
  struct Dim {
    int64_t extent = 1;
    int64_t stride_bytes = 0;  // any sign
  };
  int64_t begin = 0;
  int64_t run_bytes = 1;
  std::vector<Dim> dims;
  uint32_t id = 0;  // of the caller, returned in a fault
};

// The first byte found that is not covered as it should be: by no region, or by `first` and
// `second` (which may be one region that meets itself).
struct CoverFault {
  int64_t byte = 0;
  bool gap = false;
  uint32_t first = 0;
  uint32_t second = 0;
};

struct CoverResult {
  std::optional<CoverFault> fault;
  bool exhausted = false;  // `charge` refused: nothing is known
};

// Do `regions` cover each byte of [0, line_bytes) exactly once, or with `allow_gaps` at most once?
// All regions lie inside the line, which is below 2^61. `charge(steps)` returns false past the
// budget.
CoverResult CheckExactCover(std::vector<StridedRegion> regions, int64_t line_bytes, bool allow_gaps,
                            const std::function<bool(uint64_t)>& charge);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_EXACT_COVER_H_
