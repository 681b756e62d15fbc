// reshardc check --against: whether two layouts of one side hold the same elements on every rank.
#ifndef RESHARD_COMPILER_CLI_CHECK_AGAINST_H_
#define RESHARD_COMPILER_CLI_CHECK_AGAINST_H_

#include <cstddef>
#include <ostream>
#include <vector>

#include "compiler/cli/exit_code.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"

namespace reshard {

struct AgainstOptions {
  size_t max_errors = kDefaultMaxErrors;  // errors and groups of differences to print, 0: all
  bool json = false;
};

// Compares the layout in `layouts` that has the side of `other` with it, and prints the result.
ExitCode CheckAgainst(const std::vector<LayoutSpec>& layouts, const LayoutSpec& other,
                      const SourceMap& sources, const AgainstOptions& options, std::ostream& out,
                      std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_CHECK_AGAINST_H_
