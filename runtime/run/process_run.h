// RunOnProcesses: reshard-run when every rank is a process of its own.
//
// Every process loads and verifies the plan by itself and plays the rank with its number, rising.
// What one of them finds wrong before the first byte moves ends all of them; member 0 says it. The
// result of all is printed by member 0.
#ifndef RESHARD_RUNTIME_RUN_PROCESS_RUN_H_
#define RESHARD_RUNTIME_RUN_PROCESS_RUN_H_

#include <memory>
#include <ostream>

#include "runtime/exec/backend.h"
#include "runtime/run/run_command.h"

namespace reshard {

struct ProcessRunResult {
  RunExit exit_code = RunExit::kYes;
  bool together = true;  // all members got here; otherwise some may be dead or have left
};

// The member and the number of members are those of the backend's control channel.
ProcessRunResult RunOnProcesses(const RunArgs& args, const RunEnvironment& environment,
                                std::shared_ptr<Backend> backend, std::ostream& out,
                                std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_PROCESS_RUN_H_
