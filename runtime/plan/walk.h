// Walking class bytes: from a run of a class's bytes to runs of memory in param buffers.
//
// Both ends of a transfer walk the same class range in the same order, each with its own places, so
// that byte i of a message is the same element on both sides.
#ifndef RESHARD_RUNTIME_PLAN_WALK_H_
#define RESHARD_RUNTIME_PLAN_WALK_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Bytes of a cell: how much of its class it is.
int64_t CellBytes(const Plan& plan, const PlanCell& cell);

// The places and families of one rank and side.
class RankPlaces {
 public:
  RankPlaces(const Plan& plan, uint32_t rank, PlanSide side);
  // Places of this rank that contain the box of cell `cell`, in plan order. A source uses the
  // first; a destination writes all of them.
  std::vector<uint32_t> Containing(uint32_t cell) const;
  const std::vector<uint32_t>& places() const { return places_; }
  const std::vector<uint32_t>& families() const { return families_; }

 private:
  const Plan& plan_;
  std::vector<uint32_t> places_;  // by super-tensor
  std::vector<uint32_t> families_;
  std::vector<std::pair<uint32_t, uint32_t>> range_;  // per super-tensor: [first, last) in places_
};

// A nest of equal runs: run (i0, i1, ...) is `run_bytes` bytes at message offset
// message_offset + (row-major index of the run) * run_bytes and, in the buffer, in instance
// base_instance + sum(i_d * instance_stride_d) at base_bytes + sum(i_d * stride_bytes_d).
struct RunNest {
  uint32_t family = 0;
  int64_t base_instance = 0;
  int64_t base_bytes = 0;
  int64_t run_bytes = 0;
  int64_t message_offset = 0;
  struct Dim {
    int64_t extent = 1;
    int64_t stride_bytes = 0;
    int64_t instance_stride = 0;
  };
  std::vector<Dim> dims;  // outermost first; empty: one run
};

// Appends the nests of bytes [begin, begin + extent) of class `cls` inside place(s) of `places`;
// `message_offset` is where the first of them lies in the message. `all_places`: every containing
// place (a destination), else the first (a source). Adjacent dims are merged; a range that starts
// or ends inside a box becomes a few nests (at most 2 * dims + 1), elements are never listed.
// Returns false when some cell has no place on this rank.
[[nodiscard]] bool AppendClassRuns(const Plan& plan, const RankPlaces& places, uint32_t cls,
                                   int64_t begin, int64_t extent, int64_t message_offset,
                                   bool all_places, std::vector<RunNest>* out);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_WALK_H_
