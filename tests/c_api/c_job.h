// All ranks of a plan over the C interface, each with its own buffers.
#ifndef RESHARD_TESTS_C_API_C_JOB_H_
#define RESHARD_TESTS_C_API_C_JOB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reshard/reshard.h"
#include "runtime/plan/plan.h"

namespace reshard::testing {

// The plan as a file, loaded.
reshard_plan* LoadCPlan(const Plan& plan, const reshard_plan_options* options = nullptr);

class CJob {
 public:
  struct Buffer {
    reshard_param_info info{};
    std::vector<uint64_t> block;  // aligned for every element
    uint8_t* data() { return reinterpret_cast<uint8_t*>(block.data()); }
  };
  struct Rank {
    uint32_t rank = 0;
    reshard_backend* backend = nullptr;
    reshard_executor* executor = nullptr;
    std::vector<Buffer> buffers;  // by param index
  };

  // Executors made and bound, not yet prepared. `options` may be null. `backends`: one for each
  // rank, which the job takes over; none: loopback.
  explicit CJob(const Plan& plan, const reshard_executor_options* options = nullptr,
                std::vector<reshard_backend*> backends = {});
  ~CJob();
  CJob(const CJob&) = delete;
  CJob& operator=(const CJob&) = delete;

  std::vector<Rank>& ranks() { return ranks_; }
  reshard_plan* plan() const { return plan_; }
  Buffer& buffer(size_t rank, const std::string& name, reshard_side side);

  // Calls `call(rank)` of all ranks at the same time, with threads; their results and error texts.
  struct Outcome {
    reshard_result result = RESHARD_ERROR_INTERNAL;
    std::string error;
  };
  std::vector<Outcome> OnAll(const std::function<reshard_result(Rank&)>& call);
  std::vector<Outcome> Prepare();
  // Starts and waits, on all ranks.
  std::vector<Outcome> Execute(uint64_t generation);

 private:
  reshard_plan* plan_ = nullptr;
  std::vector<Rank> ranks_;
};

// The error text of a call that has to fail with `expected`; the text is empty when it did not.
std::string ErrorOf(reshard_result result, reshard_result expected);

}  // namespace reshard::testing

#endif  // RESHARD_TESTS_C_API_C_JOB_H_
