#include "runtime/run/run_args.h"

#include <CLI/CLI.hpp>
#include <cstdint>

namespace reshard {
namespace {

constexpr double kMinTimeoutSeconds = 0.001;
constexpr double kMaxTimeoutSeconds = 86400;
constexpr double kMinPace = 1e-3;
constexpr double kMaxPace = 1e9;
constexpr uint32_t kMaxExecutions = 1'000'000;

// CLI::Range lets "nan" pass.
std::string IsTimeout(const std::string& text) {
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= kMinTimeoutSeconds &&
      seconds <= kMaxTimeoutSeconds) {
    return {};
  }
  return "'" + text + "' is no number of seconds from 0.001 to 86400";
}

std::string IsPace(const std::string& text) {
  double pace = 0;
  if (CLI::detail::lexical_cast(text, pace) && pace >= kMinPace && pace <= kMaxPace) return {};
  return "'" + text + "' is no number from 0.001 to 1000000000";
}

constexpr char kDescription[] =
    "Executes a transfer plan on this machine and, with --check, compares every byte.";
constexpr char kFooter[] =
    "Examples:\n"
    "  reshard-run plan.fb --check\n"
    "  reshard-run plan.fb --check --repeat 3 --json\n"
    "  reshard-run plan.fb --repeat 20 --max-memory 8GB\n"
    "  reshard-run plan.fb --pace 50 --repeat 7 --trace run.json\n"
    "  mpirun -n 12 reshard-run plan.fb --backend mpi --check\n"
    "\n"
    "Exit status: 0 executed (with --check: every byte is right); 1 the plan is wrong;\n"
    "2 it could not be judged: usage, an unreadable plan, too little memory, a timeout; 3 our bug.";

}  // namespace

std::optional<RunArgs> ParseRunArgs(const std::vector<std::string>& arguments, std::ostream& out,
                                    std::ostream& err, RunExit* exit_code) {
  RunArgs args;
  std::string backend = "loopback";
  double timeout_seconds = 60;
  uint64_t max_memory_bytes = 0;
  CLI::App app{kDescription};
  app.name("reshard-run");
  app.footer(kFooter);
  app.add_option("plan", args.plan, "plan file that reshardc wrote; - is standard input")
      ->required();
  app.add_option("--backend", backend,
                 "how ranks are connected: loopback, all in this process; mpi, each is a process "
                 "that mpirun starts")
      ->check(CLI::IsMember({"loopback", "mpi"}))
      ->capture_default_str();
  bool messages = false;
  app.add_flag("--no-shared-memory", messages,
               "mpi: ranks of one host and domain exchange by messages too, as between hosts");
  app.add_flag("--check", args.check,
               "write identifying content into all source params and compare every byte of all "
               "destination params");
  app.add_option("--repeat", args.executions, "number of executions")
      ->check(CLI::Range(1U, kMaxExecutions))
      ->capture_default_str();
  CLI::Option* const pace =
      app.add_option(
             "--pace", args.pace,
             "loopback: let the NICs and scale-up ports of the plan's topology carry 1/X of "
             "their rate, to measure the plan's time; 1 is their full rate")
          ->check(IsPace);
  CLI::Option* const trace =
      app.add_option("--trace", args.trace,
                     "loopback: write what each rank did in the last execution, for Perfetto");
  app.add_option("--timeout", timeout_seconds, "seconds that a rank waits for another one")
      ->check(IsTimeout)
      ->capture_default_str();
  CLI::Option* const max_memory =
      app.add_option("--max-memory", max_memory_bytes,
                     "refuse a plan that needs more, e.g. 8GB or 512MiB (default: 80 % of what is "
                     "available)")
          ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
          ->check(CLI::Range(uint64_t{0}, uint64_t{INT64_MAX}));  // -1 is read as 2^64 - 1
  app.add_flag("--json", args.json, "print one JSON object");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error, out, err) == 0 ? RunExit::kYes : RunExit::kCannotJudge;
    return std::nullopt;
  }
  if (backend == "mpi" && pace->count() + trace->count() > 0) {
    err << "reshard-run: --pace and --trace are for the loopback backend\n";
    *exit_code = RunExit::kCannotJudge;
    return std::nullopt;
  }
  if (backend == "loopback" && messages) {
    err << "reshard-run: --no-shared-memory is for the mpi backend\n";
    *exit_code = RunExit::kCannotJudge;
    return std::nullopt;
  }
  args.backend = backend == "mpi" ? RunBackend::kMpi : RunBackend::kLoopback;
  args.shared_memory = !messages;
  args.timeout = std::chrono::nanoseconds(static_cast<int64_t>(timeout_seconds * 1e9));
  if (max_memory->count() > 0) args.max_memory_bytes = static_cast<int64_t>(max_memory_bytes);
  return args;
}

}  // namespace reshard
