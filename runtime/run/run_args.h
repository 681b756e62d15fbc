// The command line of reshard-run.
#ifndef RESHARD_RUNTIME_RUN_RUN_ARGS_H_
#define RESHARD_RUNTIME_RUN_RUN_ARGS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/run/run_command.h"

namespace reshard {

// The arguments without the program's name. When the program is to end at once, the exit code in
// *exit_code and nullopt: help goes to `out`, a usage error to `err`.
std::optional<RunArgs> ParseRunArgs(const std::vector<std::string>& arguments, std::ostream& out,
                                    std::ostream& err, RunExit* exit_code);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_RUN_ARGS_H_
