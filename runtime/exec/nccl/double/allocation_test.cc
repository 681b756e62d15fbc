// Counts what all threads allocate while plans are executed on the double.
#include <cstdint>
#include <memory>

#include "doctest/doctest.h"
#include "runtime/exec/nccl/double/device_job.h"
#include "runtime/exec/testing/allocation_count.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard::nccl {
namespace {

TEST_CASE("executing allocates nothing, once the streams of the double are warm") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
      CAPTURE(named.name);
      CAPTURE(static_cast<int>(path));
      HostBackendOptions options;
      options.path = path;
      StatusOr<std::unique_ptr<DeviceJob>> job =
          DeviceJob::Create(std::make_shared<Plan>(named.plan), options);
      REQUIRE(job.ok());
      int64_t before = 0;
      for (uint64_t generation = 1; generation <= 4; ++generation) {
        if (generation == 2) before = testing::AllocationCount();
        for (size_t r = 0; r < (*job)->rank_count(); ++r) {
          REQUIRE((*job)->executor(r).Start(nullptr, generation).ok());
        }
        for (size_t r = 0; r < (*job)->rank_count(); ++r) {
          REQUIRE((*job)->executor(r).Wait(std::chrono::seconds(60)).ok());
        }
      }
      CHECK(testing::AllocationCount() == before);
    }
  }
  CHECK(testing::AllocationCount() > 0);
}

}  // namespace
}  // namespace reshard::nccl
