// DiffTable: the sections of a diff as tables for people, in text, Markdown or HTML.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_DIFF_TABLES_H_
#define RESHARD_COMPILER_PLAN_TOOLS_DIFF_TABLES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/plan_tools/print_diff.h"

namespace reshard {

// Columns whose title starts with '>' are numbers. Cells are not escaped for anything.
struct DiffTable {
  std::string title;  // empty for the figures
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  size_t word_rows = 0;  // the last ones: they have words where the others have numbers

  size_t number_rows() const { return rows.size() - word_rows; }
};

DiffTable TableOf(DiffSection section, const PlanDiff& diff);

// "different", "equal", "equal: the bytes differ, the meaning does not", ...
std::string DiffVerdict(const DiffReport& report);

// What equal plans still do not have in common, as a sentence; or empty.
std::string DiffRemark(const DiffReport& report);

// "train, infer": inputs of another digest that mean the same; or empty.
std::string RewrittenInputs(const DiffReport& report);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_DIFF_TABLES_H_
