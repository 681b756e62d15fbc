// reshardc diff: in what two plans differ, and whether that is allowed.
#ifndef RESHARD_COMPILER_CLI_DIFF_COMMAND_H_
#define RESHARD_COMPILER_CLI_DIFF_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/plan_tools/text_table.h"

namespace CLI {
class App;
}

namespace reshard {

struct DiffArgs {
  std::string before, after;
  std::vector<std::string> only;  // sections, all when empty
  std::string gates;              // none when empty
  TextStyle style;
};

void DeclareDiff(CLI::App* app, DiffArgs* args);

// Without gates kNo when the plans differ (in the sections asked for), with gates when one fails.
ExitCode RunDiff(const DiffArgs& args, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_DIFF_COMMAND_H_
