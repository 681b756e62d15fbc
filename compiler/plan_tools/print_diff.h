// PrintDiff: a PlanDiff as text, Markdown or JSON.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PRINT_DIFF_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PRINT_DIFF_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/plan_tools/diff_gates.h"
#include "compiler/plan_tools/plan_diff.h"
#include "compiler/plan_tools/text_table.h"

namespace reshard {

struct DiffReport {
  std::array<std::string, 2> names;   // of the files
  std::vector<DiffSection> sections;  // to show and to judge, rising
  PlanDiff diff;
  std::vector<GateResult> gates;
  TextStyle style;

  bool differs() const;  // in a section that is to be judged
};

// In the format of the report's style.
void PrintDiff(const DiffReport& report, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PRINT_DIFF_H_
