// DescribeCut: a cut witness in words.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_DESCRIBE_CUT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_DESCRIBE_CUT_H_

#include <cstdint>
#include <string>

#include "runtime/plan/plan.h"

namespace reshard {

// "ingress of infer03: 470.2 GB over 8 NICs at 50 GB/s".
std::string DescribeCut(const Plan& plan, const PlanCut& cut);

// bytes / bytes_per_s in nanoseconds, rounded down.
int64_t CutNs(const PlanCut& cut);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_DESCRIBE_CUT_H_
