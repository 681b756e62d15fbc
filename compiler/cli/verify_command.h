// reshardc verify: proves the global rules of a plan, and that it is the plan of given inputs.
#ifndef RESHARD_COMPILER_CLI_VERIFY_COMMAND_H_
#define RESHARD_COMPILER_CLI_VERIFY_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"

namespace CLI {
class App;
}

namespace reshard {

struct VerifyArgs {
  std::string plan;
  std::vector<std::string> inputs;  // train, infer, topo; or empty
  bool json = false;
  bool quiet = false;  // no progress
};

void DeclareVerify(CLI::App* app, VerifyArgs* args);

ExitCode RunVerify(const VerifyArgs& args, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_VERIFY_COMMAND_H_
