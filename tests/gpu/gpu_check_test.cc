// The check itself, on the double: it passes where all is right and fails where it is not.
#include "tests/gpu/gpu_check.h"

#include <memory>
#include <sstream>
#include <string>

#include "doctest/doctest.h"
#include "runtime/exec/nccl/double/host_gpu.h"
#include "runtime/exec/nccl/double/host_nccl.h"
#include "runtime/plan/testing/small_plan.h"
#include "tests/gpu/plan_run.h"

namespace reshard::nccl {
namespace {

GpuCheckSpec SpecOn(HostMachine* machine) {
  GpuCheckSpec spec;
  spec.open_gpu = [machine](uint32_t rank) -> StatusOr<std::shared_ptr<GpuRuntime>> {
    return std::shared_ptr<GpuRuntime>(
        std::make_shared<HostGpu>(machine, GpuIdentity{0, 0, static_cast<int32_t>(rank)}));
  };
  spec.kernel_bytes = 300000;
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    spec.plans.push_back({named.name, std::make_shared<Plan>(named.plan)});
  }
  return spec;
}

TEST_CASE("all checks pass, with NCCL and with copies in its place, and give everything back") {
  for (const bool nccl : {true, false}) {
    HostMachine machine;
    GpuCheckSpec spec = SpecOn(&machine);
    if (nccl) spec.library = std::make_shared<HostNccl>();
    spec.gpu_count = 8;
    spec.max_waiting_ranks_per_gpu = 8;
    std::ostringstream out;
    const GpuCheckTotals totals = RunGpuCheck(spec, out);
    INFO(out.str());
    CHECK(totals.failed == 0);
    CHECK(totals.skipped == 0);
    CHECK(totals.passed == 8 + 2 * static_cast<int>(spec.plans.size()));
    CHECK((out.str().find("copies in place of NCCL") == std::string::npos) == nccl);
    CHECK(machine.blocks_in_use() == 0);
  }
}

// Lines of a check of the toy plan, six ranks, with a library.
std::string ToyLines(uint32_t gpu_count, bool several_ranks_per_gpu, uint32_t max_waiting) {
  HostMachine machine;
  GpuCheckSpec spec = SpecOn(&machine);
  spec.plans = {{"toy", std::make_shared<Plan>(testing::ToyPlan())}};
  spec.library = std::make_shared<HostNccl>();
  spec.gpu_count = gpu_count;
  spec.several_ranks_per_gpu = several_ranks_per_gpu;
  spec.max_waiting_ranks_per_gpu = max_waiting;
  std::ostringstream out;
  const GpuCheckTotals totals = RunGpuCheck(spec, out);
  CHECK(totals.failed == 0);
  CHECK(totals.passed + totals.skipped == 8 + 2);
  return out.str();
}

TEST_CASE("NCCL connects what it can: a rank for each device, several of them where it may") {
  const std::string copies = ", copies in place of NCCL";
  CHECK(ToyLines(6, false, 6).find(copies) == std::string::npos);
  CHECK(ToyLines(5, false, 6).find(copies) != std::string::npos);
  CHECK(ToyLines(3, true, 2).find(copies) == std::string::npos);
  CHECK(ToyLines(3, true, 1).find(copies) != std::string::npos);
}

TEST_CASE("more ranks than can wait for each other on one device are skipped, by name") {
  const std::string skipped = "plan toy, 6 ranks, direct                   skipped ";
  CHECK(ToyLines(1, true, 6).find(skipped) == std::string::npos);
  CHECK(ToyLines(1, true, 5).find(skipped) != std::string::npos);
  CHECK(ToyLines(5, false, 5).find(skipped) != std::string::npos);
  CHECK(ToyLines(6, false, 5).find(skipped) == std::string::npos);
}

TEST_CASE("a plan that leaves bytes out fails, by the name of the param") {
  HostMachine machine;
  PlanRunSpec spec;
  spec.open_gpu = SpecOn(&machine).open_gpu;
  spec.library = std::make_shared<HostNccl>();
  auto plan = std::make_shared<Plan>(testing::ReplicatedPlan());
  plan->injects.pop_back();
  --plan->ranks[1].inject_count;
  const StatusOr<PlanRunResult> result = RunPlanOnGpus(plan, spec);
  REQUIRE(result.status().ToString() == "ok");
  CHECK(result->wrong_bytes > 0);
  CHECK(result->first_wrong.find("rank 2, ") == 0);
}

TEST_CASE("a broken device is reported and nothing hangs") {
  HostMachine machine;
  GpuCheckSpec spec = SpecOn(&machine);
  const auto open = spec.open_gpu;
  spec.open_gpu = [open](uint32_t rank) {
    StatusOr<std::shared_ptr<GpuRuntime>> gpu = open(rank);
    static_cast<HostGpu&>(**gpu).BreakAfter(0);
    return gpu;
  };
  spec.plans.clear();
  std::ostringstream out;
  const GpuCheckTotals totals = RunGpuCheck(spec, out);
  CHECK(totals.passed == 0);
  CHECK(totals.failed == 8);
  CHECK(out.str().find("the device is broken") != std::string::npos);
}

}  // namespace
}  // namespace reshard::nccl
