#include "runtime/run/run_command.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/quantity_text.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/run/checked_run.h"
#include "runtime/run/run_report.h"

namespace reshard {
namespace {

// Of the available memory, unless --max-memory says otherwise.
constexpr int64_t kMemoryPercent = 80;

std::string_view PhaseText(RunPhase phase) {
  switch (phase) {
    case RunPhase::kPrepare:
      return "preparing";
    case RunPhase::kFill:
      return "writing source params";
    case RunPhase::kExecute:
      return "executing";
    case RunPhase::kCompare:
      return "comparing";
  }
  return "";
}

// Says what goes on, from the second second on and at most once a second.
class Progress {
 public:
  Progress(const RunArgs& args, std::ostream& err)
      : args_(args), err_(err), last_(std::chrono::steady_clock::now()) {}
  void Enter(RunPhase phase, uint32_t execution) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    err_ << args_.plan << ": " << PhaseText(phase);
    if (phase != RunPhase::kPrepare) {
      err_ << " (execution " << execution + 1 << " of " << args_.executions << ")";
    }
    err_ << std::endl;
  }

 private:
  const RunArgs& args_;
  std::ostream& err_;
  std::chrono::steady_clock::time_point last_;
};

Status WriteFile(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return Status();
  return Status(StatusCode::kIoError, "cannot write '" + path + "': " + std::strerror(errno));
}

// Whether both are one file, by whatever names.
bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

class Command {
 public:
  Command(const RunArgs& args, const RunEnvironment& environment, std::ostream& out,
          std::ostream& err)
      : args_(args), environment_(environment), out_(out), err_(err) {}

  RunExit Run() {
    StatusOr<LoadedPlan> loaded = environment_.load(args_.plan);
    if (!loaded.ok()) return Fail(RunExit::kCannotJudge, loaded.status());
    if (IsSameFile(args_.plan, args_.trace)) {
      return Fail(RunExit::kCannotJudge,
                  Status(StatusCode::kInvalidArgument, "--trace would overwrite the plan"));
    }
    if (const RunExit verdict = Verify(loaded->plan); verdict != RunExit::kYes) return verdict;
    const StatusOr<LoopbackMemory> memory = LoopbackMemoryOf(loaded->plan);
    if (!memory.ok()) return Fail(RunExit::kCannotJudge, memory.status());
    if (!FitsMemory(*memory)) return RunExit::kCannotJudge;
    Progress progress(args_, err_);
    CheckedRunOptions options{args_.check, args_.executions, args_.timeout};
    options.pace = args_.pace;
    options.trace = !args_.trace.empty();
    options.on_phase = [&](RunPhase phase, uint32_t execution) {
      progress.Enter(phase, execution);
    };
    StatusOr<CheckedRunResult> result = RunChecked(loaded->plan, options);
    if (!result.ok()) {
      // A plan that passed verification and cannot be executed is a mistake of the verifier.
      const bool bug = result.status().code() == StatusCode::kCorruptData;
      return Fail(bug ? RunExit::kOurBug : RunExit::kCannotJudge, result.status());
    }
    if (!args_.trace.empty()) {
      const Status written = WriteFile(args_.trace, result->trace);
      if (!written.ok()) return Fail(RunExit::kCannotJudge, written);
    }
    const RunReport report{&args_, &*loaded, *memory, *std::move(result)};
    args_.json ? PrintRunJson(report, out_) : PrintRunText(report, out_);
    if (report.result.first) {
      err_ << args_.plan << ": error: " << report.result.first->Text() << " [wrong-byte]\n";
    }
    return report.result.ok() ? RunExit::kYes : RunExit::kNo;
  }

 private:
  RunExit Fail(RunExit code, const Status& status) {
    err_ << args_.plan << ": error: " << status << "\n";
    return code;
  }

  RunExit Verify(const Plan& plan) {
    const PlanVerdict verdict = environment_.verify(plan);
    for (const std::string& violation : verdict.violations) {
      err_ << args_.plan << ": " << violation << "\n";
    }
    if (!verdict.violations.empty()) {
      err_ << args_.plan << ": error: the plan is wrong and was not executed\n";
      return RunExit::kNo;
    }
    if (!verdict.exhausted) return RunExit::kYes;
    err_ << args_.plan << ": error: the plan is too large to be verified and was not executed\n";
    return RunExit::kCannotJudge;
  }

  bool FitsMemory(const LoopbackMemory& memory) {
    std::optional<int64_t> limit = args_.max_memory_bytes;
    if (!limit) {
      const std::optional<int64_t> available = environment_.available_memory_bytes();
      if (available) limit = *available / 100 * kMemoryPercent;
    }
    err_ << args_.plan << ": needs " << FormatBinary(memory.total()) << " of memory: sources "
         << FormatBinary(memory.source_bytes) << ", destinations "
         << FormatBinary(memory.destination_bytes) << ", staging "
         << FormatBinary(memory.staging_bytes) << ", tables " << FormatBinary(memory.table_bytes)
         << std::endl;
    if (!limit || memory.total() <= *limit) return true;
    err_ << args_.plan << ": error: the limit is " << FormatBinary(*limit)
         << (args_.max_memory_bytes ? "" : ", 80 % of what is available")
         << "; a machine with more memory or a smaller model is needed, or --max-memory"
         << " [limit-exceeded]\n";
    return false;
  }

  const RunArgs& args_;
  const RunEnvironment& environment_;
  std::ostream& out_;
  std::ostream& err_;
};

}  // namespace

RunExit RunCommand(const RunArgs& args, const RunEnvironment& environment, std::ostream& out,
                   std::ostream& err) {
  return Command(args, environment, out, err).Run();
}

}  // namespace reshard
