// The parts of the page that are plain HTML: title, verdict, certificate, facts and changes.
#ifndef RESHARD_COMPILER_REPORT_PAGE_SUMMARY_H_
#define RESHARD_COMPILER_REPORT_PAGE_SUMMARY_H_

#include <string>
#include <vector>

#include "compiler/plan_tools/print_diff.h"
#include "compiler/report/report_model.h"

namespace reshard {

std::string TitleHtml(const std::vector<ReportPlan>& plans);
// Verdicts, certificates and a table of facts with a column for each plan.
std::string SummaryHtml(const std::vector<ReportPlan>& plans);
// The tables of the diff's sections.
std::string ChangesHtml(const DiffReport& diff);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_PAGE_SUMMARY_H_
