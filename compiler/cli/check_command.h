// reshardc check: what each rank of a layout stores, and the first problems; with --against, in
// what it differs from another layout of the same side.
#ifndef RESHARD_COMPILER_CLI_CHECK_COMMAND_H_
#define RESHARD_COMPILER_CLI_CHECK_COMMAND_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"

namespace CLI {
class App;
}

namespace reshard {

struct CheckArgs {
  std::vector<std::string> layouts;  // one, or a source and a destination in any order
  std::string against;               // another layout of the side of one of them
  bool ranks = false;                // a line per rank instead of a line per group of equal ranks
  size_t max_errors = kDefaultMaxErrors;
  bool json = false;
};

void DeclareCheck(CLI::App* app, CheckArgs* args);

ExitCode RunCheck(const CheckArgs& args, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_CHECK_COMMAND_H_
