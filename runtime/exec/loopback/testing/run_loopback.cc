#include "runtime/exec/loopback/testing/run_loopback.h"

#include <memory>

namespace reshard::testing {

Status RunLoopback(const Plan& plan, uint32_t executions, const LoopbackOptions& options,
                   const LoopbackHooks& hooks, LoopbackStats* stats) {
  StatusOr<std::unique_ptr<LoopbackJob>> created = LoopbackJob::Create(plan, options);
  if (!created.ok()) return created.status();
  LoopbackJob& job = **created;
  for (uint32_t e = 0; e < executions; ++e) {
    if (hooks.fill) {
      for (const LoopbackParam& param : job.params()) hooks.fill(e, param);
    }
    RESHARD_RETURN_IF_ERROR(job.Execute());
    if (stats != nullptr) *stats = job.stats();
    if (!hooks.inspect) continue;
    for (const LoopbackParam& param : job.params()) {
      RESHARD_RETURN_IF_ERROR(hooks.inspect(e, param));
    }
  }
  return Status();
}

}  // namespace reshard::testing
