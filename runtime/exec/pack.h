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
  // Appends the nests of one message of `message_bytes` bytes. Error when a nest leaves its buffer
  // or the message, which only a plan that was not verified can cause. `bindings` outlives the
  // list.
  StatusOr<CopyRange> Append(const Plan& plan, const Bindings& bindings,
                             std::span<const RunNest> nests, int64_t message_bytes);
  // Bytes that the nests of a range move.
  int64_t Bytes(CopyRange range) const;

  // Params to message.
  void Gather(CopyRange range, uint8_t* message);
  // Message to params.
  void Scatter(CopyRange range, const uint8_t* message);

 private:
  // Rows of runs: the innermost dim inside one instance, then the outer dims, then the message.
  struct Nest {
    uint8_t* const* instances = nullptr;
    int64_t base_instance = 0;
    int64_t base_bytes = 0;
    int64_t run_bytes = 0;
    int64_t row_runs = 1;  // runs of a row
    int64_t row_stride_bytes = 0;
    int64_t message_offset = 0;
    int64_t row_count = 1;
    size_t first_dim = 0;  // outer dims in dims_
    size_t dim_count = 0;
  };
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
  // Adds the regions of a fill in every instance that is bound. Error when one leaves its buffer.
  Status Append(const Plan& plan, const Bindings& bindings, const PlanFill& fill);
  void Zero();

 private:
  struct Nest {
    uint8_t* base = nullptr;
    int64_t run_bytes = 0;
    int64_t run_count = 1;
    size_t first_dim = 0;
    size_t dim_count = 0;
  };
  std::vector<Nest> nests_;
  std::vector<PlanFillDim> dims_;
  std::vector<int64_t> index_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_PACK_H_
