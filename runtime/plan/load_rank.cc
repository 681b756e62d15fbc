#include "runtime/plan/load_rank.h"

#include <utility>

#include "runtime/plan/verify.h"

namespace reshard {

StatusOr<LoadedRank> LoadRankFile(const std::string& path, uint32_t rank,
                                  const LoadOptions& options) {
  StatusOr<LoadedPlan> loaded = LoadPlanFile(path, options);
  if (!loaded.ok()) return loaded.status();
  LoadedRank result;
  result.loaded = std::move(*loaded);
  result.program.rank = kNoId;
  VerifyOptions verify;
  verify.max_violations = 1;
  const VerifyReport report = VerifyRank(result.loaded.plan, rank, verify, &result.program);
  if (!report.violations.empty()) {
    return Status(StatusCode::kCorruptData, Describe(report.violations.front()));
  }
  if (report.exhausted) {
    return Status(StatusCode::kLimitExceeded,
                  "checking rank " + std::to_string(rank) + " of the plan takes too long");
  }
  if (result.program.rank != rank) {
    return Status(StatusCode::kNotFound, "the plan has no rank " + std::to_string(rank));
  }
  return result;
}

}  // namespace reshard
