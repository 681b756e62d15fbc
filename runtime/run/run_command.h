// reshard-run: loads, verifies, executes and checks a plan, and says what happened.
#ifndef RESHARD_RUNTIME_RUN_RUN_COMMAND_H_
#define RESHARD_RUNTIME_RUN_RUN_COMMAND_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/plan/load_plan.h"

namespace reshard {

enum class RunExit : int {
  kYes = 0,          // executed; with a check: every byte is right
  kNo = 1,           // the plan breaks a rule or left a wrong byte
  kCannotJudge = 2,  // usage, unreadable plan, too little memory, a timeout
  kOurBug = 3,
};

enum class RunBackend : uint8_t { kLoopback, kMpi };

struct RunArgs {
  std::string plan;
  RunBackend backend = RunBackend::kLoopback;
  bool shared_memory = true;  // kMpi: between ranks of one host
  bool check = false;
  bool json = false;
  uint32_t executions = 1;
  double pace = 0;    // kLoopback: ports carry 1 / pace of their rate; 0: as fast as memory is
  std::string trace;  // kLoopback: a file for what happened when in the last execution
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  std::optional<int64_t> max_memory_bytes;
};

struct PlanVerdict {
  std::vector<std::string> violations;  // "rank 3, round 17: error: ... [write-race]"
  bool exhausted = false;               // neither right nor wrong is claimed
};

// What the command takes from outside.
struct RunEnvironment {
  std::function<StatusOr<LoadedPlan>(const std::string& path)> load;
  std::function<PlanVerdict(const Plan& plan)> verify;
  std::function<std::optional<int64_t>()> available_memory_bytes;
};

// Results on `out`, all else on `err`. Nothing is executed that has not passed `verify`.
RunExit RunCommand(const RunArgs& args, const RunEnvironment& environment, std::ostream& out,
                   std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_RUN_RUN_COMMAND_H_
