// RunLoopback: a LoopbackJob from its creation to its last execution, with params filled and
// inspected by the test.
#ifndef RESHARD_RUNTIME_EXEC_LOOPBACK_TESTING_RUN_LOOPBACK_H_
#define RESHARD_RUNTIME_EXEC_LOOPBACK_TESTING_RUN_LOOPBACK_H_

#include <cstdint>
#include <functional>

#include "runtime/base/status.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/plan.h"

namespace reshard::testing {

// Calls are made on the caller's thread, params by (rank, family, instance).
struct LoopbackHooks {
  // Before each execution (0, 1, ...), for every param: source bytes, and whatever destination and
  // external buffers should hold before.
  std::function<void(uint32_t execution, const LoopbackParam& param)> fill;
  // After each execution, for every param. The first error ends the run.
  std::function<Status(uint32_t execution, const LoopbackParam& param)> inspect;
};

// Create, then `executions` times fill, execute, inspect. Hooks may be empty.
Status RunLoopback(const Plan& plan, uint32_t executions, const LoopbackOptions& options,
                   const LoopbackHooks& hooks, LoopbackStats* stats = nullptr);

}  // namespace reshard::testing

#endif  // RESHARD_RUNTIME_EXEC_LOOPBACK_TESTING_RUN_LOOPBACK_H_
