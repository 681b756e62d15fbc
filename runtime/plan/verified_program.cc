#include "runtime/plan/verified_program.h"

#include <string>

#include "runtime/plan/verify.h"

namespace reshard {

StatusOr<Program> VerifiedProgram(const Plan& plan, uint32_t rank) {
  Program program;
  program.rank = kNoId;
  VerifyOptions options;
  options.max_violations = 1;
  const VerifyReport report = VerifyRank(plan, rank, options, &program);
  if (!report.violations.empty()) {
    return Status(StatusCode::kCorruptData, Describe(report.violations.front()));
  }
  if (report.exhausted) {
    return Status(StatusCode::kLimitExceeded,
                  "checking rank " + std::to_string(rank) + " of the plan takes too long");
  }
  if (program.rank != rank) {
    return Status(StatusCode::kNotFound, "the plan has no rank " + std::to_string(rank));
  }
  return program;
}

}  // namespace reshard
