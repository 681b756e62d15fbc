// reshardc simulate: how long a plan takes, event by event.
#ifndef RESHARD_COMPILER_CLI_SIMULATE_COMMAND_H_
#define RESHARD_COMPILER_CLI_SIMULATE_COMMAND_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/simulate/simulate.h"

namespace CLI {
class App;
}

namespace reshard {

struct SimulateArgs {
  std::string plan;
  std::string topo;   // another topology than the plan's own; or empty
  std::string trace;  // file to write; or empty
  SimOptions options;
  std::optional<int64_t> round_cost_ns;  // absent: what the plan was compiled for
  bool baselines = false;
  bool json = false;
  bool quiet = false;  // no progress
};

void DeclareSimulate(CLI::App* app, SimulateArgs* args);

ExitCode RunSimulate(const SimulateArgs& args, FileSystem& files, std::ostream& out,
                     std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_SIMULATE_COMMAND_H_
