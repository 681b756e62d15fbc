// reshardc show: a plan, one rank's program, one tensor's ways, or points for `expect`.
#ifndef RESHARD_COMPILER_CLI_SHOW_COMMAND_H_
#define RESHARD_COMPILER_CLI_SHOW_COMMAND_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/plan_tools/text_table.h"

namespace CLI {
class App;
}

namespace reshard {

struct ShowArgs {
  std::string plan;
  std::optional<uint32_t> rank;  // alone: its program; with points: only its params
  std::optional<std::string> tensor;
  bool points = false;
  bool source_points = false;  // of the source's params instead of the destination's
  bool steps = false;          // of the rank, round by round
  bool ranks = false;
  bool messages = false;
  std::string dot;         // "ranks" or "domains"; or empty
  bool canonical = false;  // everything, as text that does not depend on numbering
  TextStyle style;
};

void DeclareShow(CLI::App* app, ShowArgs* args);

ExitCode RunShow(const ShowArgs& args, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_SHOW_COMMAND_H_
