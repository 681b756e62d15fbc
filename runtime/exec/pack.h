// Gathering param bytes into messages and scattering messages into params, prepared once.
//
// A CopyList holds nests of equal runs with their buffer addresses resolved and their bounds
// checked, flat in memory; running a range of it touches nothing else.
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

// Nests [first, end) of a CopyList.
struct CopyRange {
  uint32_t first = 0;
  uint32_t end = 0;
};

class CopyList {
 public:
  // Appends nests of one message of `message_bytes` bytes. Error when one leaves its buffer or the
  // message, which only a plan that was not verified can cause.
  StatusOr<CopyRange> Append(const Plan& plan, const Bindings& bindings,
                             std::span<const RunNest> nests, int64_t message_bytes);
  // Bytes that the nests of a range move.
  int64_t Bytes(CopyRange range) const;

  // Params to message.
  void Gather(CopyRange range, uint8_t* message);
  // Message to params.
  void Scatter(CopyRange range, const uint8_t* message);

 private:
  struct Nest {
    uint8_t* const* instances = nullptr;  // of the family; null: `base` is an address
    uint8_t* base = nullptr;              // of the first run, where every run is in one instance
    int64_t base_instance = 0;
    int64_t base_bytes = 0;
    int64_t run_bytes = 0;
    int64_t message_offset = 0;
    int64_t bytes = 0;
    uint32_t first_dim = 0;
    uint32_t dim_count = 0;
  };
  template <class Visit>
  void ForEachRow(const Nest& nest, Visit visit);

  std::vector<Nest> nests_;
  std::vector<RunNest::Dim> dims_;
  std::vector<std::vector<uint8_t*>> tables_;  // per family used: its instances
  std::vector<int64_t> index_;                 // scratch: position in the outer dims
};

// Bytes that every execution sets to zero.
class FillList {
 public:
  Status Append(const Plan& plan, const Bindings& bindings, const PlanFill& fill);
  void Zero();

 private:
  struct Nest {
    uint8_t* base = nullptr;
    int64_t run_bytes = 0;
    uint32_t first_dim = 0;
    uint32_t dim_count = 0;
  };
  std::vector<Nest> nests_;
  std::vector<PlanFillDim> dims_;
  std::vector<int64_t> index_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_PACK_H_
