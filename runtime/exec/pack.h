// Gathering param bytes into messages and scattering messages into params, prepared once.
//
// A CopyList holds nests of equal runs with their buffer addresses resolved and their bounds
// checked, flat in memory; running a range of it touches nothing else. Running uses scratch memory
// of the list: one thread at a time.
#ifndef RESHARD_RUNTIME_EXEC_PACK_H_
#define RESHARD_RUNTIME_EXEC_PACK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/bindings.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/walk.h"

namespace reshard {

// Nests [first, end) of a list.
struct CopyRange {
  size_t first = 0;
  size_t end = 0;
};

class CopyList {
 public:
  // Rows of equal runs. Row (i0, i1, ...) of the outer dims begins in instance base_instance +
  // sum(i_d * instance_stride_d) at byte base_bytes + sum(i_d * stride_bytes_d), and in the message
  // at message_offset + (row-major index of the row) * row_runs * run_bytes. Its runs lie
  // row_stride_bytes apart in the param and follow each other in the message.
  struct Nest {
    uint32_t family = 0;
    uint8_t* const* instances = nullptr;  // of the family
    int64_t base_instance = 0;
    int64_t base_bytes = 0;
    int64_t run_bytes = 0;
    int64_t row_runs = 1;  // runs of a row
    int64_t row_stride_bytes = 0;
    int64_t message_offset = 0;
    int64_t row_count = 1;
    size_t first_dim = 0;  // outer dims: dims(nest)
    size_t dim_count = 0;
  };

  // Appends the nests of one message of `message_bytes` bytes, without what would be written into
  // an in-place instance if the list is `written`. Error when a nest leaves its buffer or the
  // message, which only a plan that was not verified can cause. `bindings` outlives the list.
  StatusOr<CopyRange> Append(const Plan& plan, const Bindings& bindings,
                             std::span<const RunNest> nests, int64_t message_bytes,
                             bool written = false);
  // Bytes that the nests of a range move.
  int64_t Bytes(CopyRange range) const;

  // For an engine that moves the bytes by itself.
  std::span<const Nest> nests(CopyRange range) const {
    return std::span(nests_).subspan(range.first, range.end - range.first);
  }
  std::span<const RunNest::Dim> dims(const Nest& nest) const {
    return std::span(dims_).subspan(nest.first_dim, nest.dim_count);
  }

  // Params to message.
  void Gather(CopyRange range, uint8_t* message);
  // Message to params.
  void Scatter(CopyRange range, const uint8_t* message);

 private:
  // The values that the instance takes over a nest, both ends included.
  struct Instances {
    int64_t low = 0;
    int64_t high = 0;
  };
  static StatusOr<Instances> Check(const Plan& plan, const Bindings& bindings, const RunNest& nest,
                                   int64_t message_bytes);
  void AppendChecked(const Bindings& bindings, const RunNest& nest);
  // The same, instance by instance, without those that are in place.
  void AppendWritten(const Bindings& bindings, const RunNest& nest);
  // Calls visit(address of the row's first run, message offset of the row) for each row.
  template <class Visit>
  void ForEachRow(const Nest& nest, Visit visit);

  std::vector<Nest> nests_;
  std::vector<RunNest::Dim> dims_;
  std::vector<int64_t> index_;  // scratch: position in the outer dims
};

// Regions that every execution sets to zero.
class FillList {
 public:
  // Runs at base + sum(i_d * stride_bytes_d).
  struct Nest {
    uint8_t* base = nullptr;
    int64_t run_bytes = 0;
    int64_t run_count = 1;
    size_t first_dim = 0;
    size_t dim_count = 0;
  };
  // Adds the regions of a fill in every instance that is bound. Error when one leaves its buffer.
  Status Append(const Plan& plan, const Bindings& bindings, const PlanFill& fill);
  void Zero();

  // For an engine that writes the zeros by itself.
  std::span<const Nest> nests() const { return nests_; }
  std::span<const PlanFillDim> dims(const Nest& nest) const {
    return std::span(dims_).subspan(nest.first_dim, nest.dim_count);
  }

 private:
  std::vector<Nest> nests_;
  std::vector<PlanFillDim> dims_;
  std::vector<int64_t> index_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_PACK_H_
