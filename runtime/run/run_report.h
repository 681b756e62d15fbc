// What reshard-run prints, as text and as JSON.
#ifndef RESHARD_RUNTIME_RUN_RUN_REPORT_H_
#define RESHARD_RUNTIME_RUN_RUN_REPORT_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/load_plan.h"
#include "runtime/run/checked_run.h"
#include "runtime/run/run_command.h"

namespace reshard {

struct RunReport {
  const RunArgs* args = nullptr;
  const LoadedPlan* loaded = nullptr;
  LoopbackMemory memory;
  CheckedRunResult result;
};

void PrintRunText(const RunReport& report, std::ostream& out);
// {"schema": "reshard-run/1", ...}; docs in runtime/README.md.
void PrintRunJson(const RunReport& report, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_RUN_REPORT_H_
