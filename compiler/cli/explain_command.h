// reshardc explain: where an element comes from or goes, what passes a NIC or between two ranks.
#ifndef RESHARD_COMPILER_CLI_EXPLAIN_COMMAND_H_
#define RESHARD_COMPILER_CLI_EXPLAIN_COMMAND_H_

#include <cstdint>
#include <optional>
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

struct ExplainArgs {
  std::string plan;
  std::optional<uint32_t> rank;  // with param
  std::optional<std::string> param;
  std::vector<int64_t> at;  // an element of it; or empty
  bool source = false;      // the param of the source side
  bool why = false;
  std::optional<std::string> nic;
  std::vector<uint32_t> edge;  // two ranks; or empty
  TextStyle style;
};

void DeclareExplain(CLI::App* app, ExplainArgs* args);

ExitCode RunExplain(const ExplainArgs& args, FileSystem& files, std::ostream& out,
                    std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_EXPLAIN_COMMAND_H_
