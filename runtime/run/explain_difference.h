// ExplainDifference: a wrong byte in words, with the origin of what is there instead.
#ifndef RESHARD_RUNTIME_RUN_EXPLAIN_DIFFERENCE_H_
#define RESHARD_RUNTIME_RUN_EXPLAIN_DIFFERENCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/plan.h"
#include "runtime/run/layout_oracle.h"

namespace reshard {

struct ContentDifference {
  uint32_t rank = 0;
  std::string param;
  int64_t offset_bytes = 0;    // in the param
  std::vector<int64_t> index;  // of the element in the param's shape
  std::string expected;        // "layers.3.wq[17, 4]", "zero", ...
  std::string found;           // the same words, or "an unknown value"
  std::string Text() const;    // one sentence
};

// `params` are those of the rank of `finding`, in the state that the check found. Searches the
// elements of all tensors for the found bytes, up to a fixed budget.
ContentDifference ExplainDifference(const Plan& plan, std::span<const LoopbackParam> params,
                                    const Finding& finding, uint64_t generation);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_EXPLAIN_DIFFERENCE_H_
