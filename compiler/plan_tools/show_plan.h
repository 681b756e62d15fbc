// What `reshardc show` prints of a plan, as text and as JSON values.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SHOW_PLAN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SHOW_PLAN_H_

#include <cstdint>
#include <ostream>

#include "compiler/plan_tools/text_table.h"
#include "runtime/plan/load_plan.h"

namespace reshard {

// Summary, domains, NICs, the largest classes, the streams and their trees, options, digests.
void ShowPlanText(const LoadedPlan& loaded, int64_t plan_bytes, const TextStyle& style,
                  std::ostream& out);
// The same as one JSON object, schema "reshardc-show/1", never cut short.
void ShowPlanJson(const LoadedPlan& loaded, int64_t plan_bytes, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SHOW_PLAN_H_
