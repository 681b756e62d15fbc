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
    std::ostringstream out;
    const GpuCheckTotals totals = RunGpuCheck(spec, out);
    INFO(out.str());
    CHECK(totals.failed == 0);
    CHECK(totals.passed == 8 + 2 * static_cast<int>(spec.plans.size()));
    CHECK(machine.blocks_in_use() == 0);
  }
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
