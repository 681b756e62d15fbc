// ReportPage: a plan, or two and what differs between them, as one HTML file.
//
// The file holds everything and fetches nothing: a content security policy allows its own script
// and style sheet, by their hashes, and nothing else. The summary and the changes are HTML; the
// other views are drawn by the script from the JSON of report_model.h.
#ifndef RESHARD_COMPILER_REPORT_REPORT_PAGE_H_
#define RESHARD_COMPILER_REPORT_REPORT_PAGE_H_

#include <string>
#include <vector>

#include "compiler/plan_tools/print_diff.h"
#include "compiler/report/report_model.h"

namespace reshard {

// `plans` are one, or the two of `diff`, which is null for one.
std::string ReportPage(const std::vector<ReportPlan>& plans, const DiffReport* diff);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_REPORT_PAGE_H_
