// ReportModel: what the page of `reshardc report` shows of one plan, as JSON.
//
// Columns of numbers, one entry per site, NIC or domain, because a plan may have thousands; what
// grows with pairs of ranks is packed (number_pack.h). Names are escaped as for a terminal: control
// characters and direction marks are visible.
#ifndef RESHARD_COMPILER_REPORT_REPORT_MODEL_H_
#define RESHARD_COMPILER_REPORT_REPORT_MODEL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/report/timeline.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/verify.h"

namespace reshard {

// A plan, and what was found out about it.
struct ReportPlan {
  std::string name;  // of the file
  const LoadedPlan& loaded;
  int64_t plan_bytes = 0;
  const VerifyReport& verified;
  const Timeline& timeline;
};

// "sound", "violated" or, when the verifier's budget ran out, "undecided".
std::string_view PlanVerdict(const VerifyReport& verified);

// One line of JSON.
std::string ReportModelJson(const ReportPlan& report);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_REPORT_MODEL_H_
