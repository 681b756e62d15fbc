// Test input: layout texts or files to tables and layouts, and the diagnostics of that as words.
#ifndef RESHARD_COMPILER_LAYOUT_TESTING_LAYOUT_TEST_INPUT_H_
#define RESHARD_COMPILER_LAYOUT_TESTING_LAYOUT_TEST_INPUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout.h"

namespace reshard {

// Both sides of a job. An empty text leaves a side out.
struct LayoutTestInput {
  SourceMap sources;
  Diagnostics diags;
  LayoutSpec source_spec, destination_spec;
  LogicalTable table;
  Layout source, destination;
  bool good = false;  // everything was built without an error

  LayoutTestInput(const std::string& source_text, const std::string& destination_text,
                  int64_t max_pieces = kMaxPieces);
  // The stable words of all diagnostics, in the order reported.
  std::vector<std::string> Codes() const;
  // Everything as a user sees it.
  std::string Text() const;
};

// The text of a file of tests/data/layouts.
std::string TestLayoutText(const std::string& name);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_TESTING_LAYOUT_TEST_INPUT_H_
