// RunChecked: executes a plan on loopback with identifying content and compares every byte.
#ifndef RESHARD_RUNTIME_RUN_CHECKED_RUN_H_
#define RESHARD_RUNTIME_RUN_CHECKED_RUN_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/run/explain_difference.h"

namespace reshard {

enum class RunPhase : uint8_t { kPrepare, kFill, kExecute, kCompare };

struct CheckedRunOptions {
  bool check = true;
  uint32_t executions = 1;
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // of one wait for another rank
  double pace = 0;                                              // of LoopbackGroup
  bool trace = false;                                           // fill CheckedRunResult::trace
  // Called before each phase, for progress; may be empty.
  std::function<void(RunPhase phase, uint32_t execution)> on_phase = nullptr;
};

// The longest that one rank waited for another.
struct RunSlowest {
  std::chrono::nanoseconds waited{0};  // 0: nobody waited
  uint32_t rank = 0;
  uint32_t peer = 0;
};

struct CheckedRunResult {
  std::vector<std::chrono::nanoseconds> elapsed;  // per execution
  int64_t max_staging_bytes = 0;                  // largest arena really allocated
  RunSlowest slowest;                             // of the last execution
  std::string trace;                              // of the last execution, as WriteTrace has it
  int64_t compared_bytes = 0;                     // over all executions
  int64_t wrong_bytes = 0;
  std::optional<ContentDifference> first;  // of the lowest rank that differs
  bool ok() const { return wrong_bytes == 0; }
};

// `plan` has passed VerifyPlan. Every execution has source content of its own, so that one which
// moves nothing is caught; the run ends after the first that leaves a wrong byte. Without `check`,
// content is written once and nothing is compared.
StatusOr<CheckedRunResult> RunChecked(const Plan& plan, const CheckedRunOptions& options);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_CHECKED_RUN_H_
