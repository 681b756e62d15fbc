// reshard-run: see run_command.h.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/mpi/mpi_process.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/verify.h"
#include "runtime/run/available_memory.h"
#include "runtime/run/process_run.h"
#include "runtime/run/run_args.h"
#include "runtime/run/run_command.h"

namespace {

reshard::PlanVerdict Verify(const reshard::Plan& plan) {
  const reshard::VerifyReport report = reshard::VerifyPlan(plan, {});
  reshard::PlanVerdict verdict;
  for (const reshard::Violation& violation : report.violations) {
    verdict.violations.push_back(reshard::Describe(violation));
  }
  verdict.exhausted = report.exhausted;
  return verdict;
}

reshard::RunExit RunWithMpi(const reshard::RunArgs& args,
                            const reshard::RunEnvironment& environment) {
  reshard::StatusOr<std::unique_ptr<reshard::MpiProcess>> process =
      reshard::MpiProcess::Start({args.timeout, args.shared_memory});
  if (!process.ok()) {
    std::cerr << "reshard-run: error: " << process.status() << "\n";
    return reshard::RunExit::kCannotJudge;
  }
  const reshard::ProcessRunResult result =
      reshard::RunOnProcesses(args, environment, (*process)->backend(), std::cout, std::cerr);
  // MPI would wait for members that are gone.
  if (result.together) (*process)->Finish();
  return result.exit_code;
}

reshard::RunExit Run(const std::vector<std::string>& arguments) {
  reshard::RunExit exit_code = reshard::RunExit::kYes;
  const std::optional<reshard::RunArgs> args =
      reshard::ParseRunArgs(arguments, std::cout, std::cerr, &exit_code);
  if (!args) return exit_code;
  reshard::RunEnvironment environment;
  environment.load = [](const std::string& path) { return reshard::LoadPlanFile(path, {}); };
  environment.verify = Verify;
  environment.available_memory_bytes = reshard::AvailableMemoryBytes;
  if (args->backend == reshard::RunBackend::kMpi) return RunWithMpi(*args, environment);
  return reshard::RunCommand(*args, environment, std::cout, std::cerr);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const reshard::RunExit exit_code = Run(std::vector<std::string>(argv + 1, argv + argc));
    std::cout.flush();
    if (std::cout) return static_cast<int>(exit_code);
    std::cerr << "reshard-run: error: cannot write to standard output [cannot-write]\n";
    return static_cast<int>(std::max(exit_code, reshard::RunExit::kCannotJudge));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "reshard-run: error: out of memory [limit-exceeded]\n");
    return static_cast<int>(reshard::RunExit::kCannotJudge);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reshard-run: internal error: %s\n", error.what());
    return static_cast<int>(reshard::RunExit::kOurBug);
  }
}
