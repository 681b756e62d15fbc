// PrintExplain: flows, alternatives and passages as text or JSON. Names in text may hold control
// characters: print it escaped.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PRINT_EXPLAIN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PRINT_EXPLAIN_H_

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/plan_tools/explain.h"
#include "compiler/plan_tools/explain_why.h"
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

struct PassagesReport {
  std::string what;  // which messages these are: "rank 3 to rank 5"
  std::vector<Passage> passages;
  std::optional<NicTraffic> nic;  // whose ranks' messages they are
};
void PrintPassagesText(const PassagesReport& report, const TextStyle& style, std::ostream& out);
void PrintPassagesJson(const PassagesReport& report, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PRINT_EXPLAIN_H_
