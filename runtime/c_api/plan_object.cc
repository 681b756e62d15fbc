#include "runtime/c_api/plan_object.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/plan/verified_program.h"

namespace reshard::c_api {
namespace {

std::shared_ptr<const SharedPlan> Share(LoadedPlan loaded) {
  auto shared = std::make_shared<SharedPlan>();
  shared->root_digest = loaded.root_digest;
  shared->plan = std::make_shared<const Plan>(std::move(loaded.plan));
  shared->index = BuildProgramIndex(*shared->plan);
  return shared;
}

std::unique_ptr<RankParams> Describe(const Plan& plan, uint32_t rank) {
  auto result = std::make_unique<RankParams>();
  result->params = ParamsOfRank(plan, rank);
  for (const ExpectedParam& param : result->params) {
    const std::vector<int64_t>& shape = plan.families[param.family].shape;
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) {
      // A shape without elements may have extents of any size.
      strides[d - 1] = CheckedMul(strides[d], shape[d]).value_or(0);
    }
    result->strides.push_back(std::move(strides));
    std::vector<const char*> shares;
    for (const std::string& name : param.shares) shares.push_back(name.c_str());
    result->shares.push_back(std::move(shares));
  }
  return result;
}

}  // namespace

size_t RankParams::IndexOf(uint32_t family, int64_t instance) const {
  const auto at = std::lower_bound(
      params.begin(), params.end(), std::pair(family, instance),
      [](const ExpectedParam& a, const auto& b) { return std::pair(a.family, a.instance) < b; });
  const bool found = at != params.end() && at->family == family && at->instance == instance;
  return static_cast<size_t>((found ? at : params.end()) - params.begin());
}

PlanObject::PlanObject(LoadedPlan loaded, bool all_verified)
    : shared_(Share(std::move(loaded))), all_verified_(all_verified) {}

Status PlanObject::VerifyRankOnce(uint32_t rank) {
  if (all_verified_) return Status();
  const std::lock_guard lock(mutex_);
  if (const auto known = verified_.find(rank); known != verified_.end()) return known->second;
  return verified_.emplace(rank, VerifiedProgram(plan(), rank).status()).first->second;
}

const RankParams* PlanObject::ParamsOf(uint32_t rank) {
  if (shared_->index.RankIndex(plan(), rank) == kNoId) return nullptr;
  const std::lock_guard lock(mutex_);
  std::unique_ptr<RankParams>& params = params_[rank];
  if (!params) params = c_api::Describe(plan(), rank);
  return params.get();
}

}  // namespace reshard::c_api
