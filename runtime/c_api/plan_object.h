// The object behind a reshard_plan: a plan that executors share, and what callers are told of it.
#ifndef RESHARD_RUNTIME_C_API_PLAN_OBJECT_H_
#define RESHARD_RUNTIME_C_API_PLAN_OBJECT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "reshard/reshard.h"
#include "runtime/base/status.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/executor.h"
#include "runtime/plan/load_plan.h"

namespace reshard::c_api {

// The params of one rank, with the memory that reshard_param_info points to.
struct RankParams {
  std::vector<ExpectedParam> params;  // by (family, instance)
  std::vector<std::vector<int64_t>> strides;
  std::vector<std::vector<const char*>> shares;

  // The index of a destination param; params.size() when there is none.
  size_t IndexOf(uint32_t family, int64_t instance) const;
};

class PlanObject {
 public:
  // `all_verified`: the plan has passed VerifyPlan.
  PlanObject(LoadedPlan loaded, bool all_verified);

  const Plan& plan() const { return *shared_->plan; }
  const std::shared_ptr<const SharedPlan>& shared() const { return shared_; }

  // The local rules of the rank hold; checked once, at the first call. Thread-safe, as the next.
  Status VerifyRankOnce(uint32_t rank);
  // Null when the plan has no such rank. Lives as long as this.
  const RankParams* ParamsOf(uint32_t rank);

 private:
  const std::shared_ptr<const SharedPlan> shared_;
  const bool all_verified_;
  std::mutex mutex_;
  std::map<uint32_t, Status> verified_;                     // guarded by mutex_
  std::map<uint32_t, std::unique_ptr<RankParams>> params_;  // guarded by mutex_
};

std::shared_ptr<PlanObject> FindPlan(const reshard_plan* handle);

}  // namespace reshard::c_api

#endif  // RESHARD_RUNTIME_C_API_PLAN_OBJECT_H_
