// What `reshardc show` prints of a plan, as text and as JSON values.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SHOW_PLAN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SHOW_PLAN_H_

#include <cstdint>
#include <ostream>

#include "runtime/plan/load_plan.h"

namespace reshard {

struct ShowLimits {
  size_t rows = 16;  // of each table; the rest is counted. 0: all
};

// Summary, domains, NICs, the largest classes, the streams and their trees, options, digests.
void ShowPlanText(const LoadedPlan& loaded, int64_t plan_bytes, const ShowLimits& limits,
                  std::ostream& out);
// The same as one JSON object, schema "reshardc-show/1", never cut short.
void ShowPlanJson(const LoadedPlan& loaded, int64_t plan_bytes, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SHOW_PLAN_H_
