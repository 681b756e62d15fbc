// reshard-run: see run_command.h.
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "runtime/plan/load_plan.h"
#include "runtime/plan/verify.h"
#include "runtime/run/available_memory.h"
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

}  // namespace

int main(int argc, char** argv) {
  try {
    reshard::RunExit exit_code = reshard::RunExit::kYes;
    const std::optional<reshard::RunArgs> args = reshard::ParseRunArgs(
        std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr, &exit_code);
    if (!args) return static_cast<int>(exit_code);
    reshard::RunEnvironment environment;
    environment.load = [](const std::string& path) { return reshard::LoadPlanFile(path, {}); };
    environment.verify = Verify;
    environment.available_memory_bytes = reshard::AvailableMemoryBytes;
    return static_cast<int>(reshard::RunCommand(*args, environment, std::cout, std::cerr));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "reshard-run: error: out of memory [limit-exceeded]\n");
    return static_cast<int>(reshard::RunExit::kCannotJudge);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reshard-run: internal error: %s\n", error.what());
    return static_cast<int>(reshard::RunExit::kOurBug);
  }
}
