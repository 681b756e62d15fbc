// PrintExplain: flows, alternatives and passages as text or JSON. Names in text may hold control
// characters: print it escaped.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PRINT_EXPLAIN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PRINT_EXPLAIN_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/plan_tools/explain.h"
#include "compiler/plan_tools/fill_parts.h"
#include "compiler/plan_tools/text_table.h"

namespace reshard {

struct FlowsReport {
  std::string param;
  ParamQuery query;
  Explanation explanation;
  std::vector<FillPart> fills;
  bool why = false;  // with the alternatives of each way
};
void PrintFlowsText(const Plan& plan, const FlowsReport& report, const TextStyle& style,
                    std::ostream& out);
void PrintFlowsJson(const Plan& plan, const FlowsReport& report, std::ostream& out);

// `what` says which messages these are: "rank 3 to rank 5".
void PrintPassagesText(const std::string& what, const std::vector<Passage>& passages,
                       const TextStyle& style, std::ostream& out);
void PrintPassagesJson(const std::string& what, const std::vector<Passage>& passages,
                       std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PRINT_EXPLAIN_H_
