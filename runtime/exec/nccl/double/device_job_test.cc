#include "runtime/exec/nccl/double/device_job.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard::nccl {
namespace {

// A different byte everywhere, and in every execution.
uint8_t SourceByte(uint32_t execution, uint32_t rank, uint32_t family, int64_t instance,
                   size_t position) {
  uint64_t x = execution * 1000003ULL + rank * 8191ULL + family * 127ULL +
               static_cast<uint64_t>(instance) * 31ULL + position;
  x = (x ^ (x >> 13)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<uint8_t>(x >> 56);
}

template <class Param>
void Fill(uint32_t execution, const Param& param) {
  // Replicas hold the same; that a plan reads any of them is left to whole-job tests.
  for (size_t b = 0; b < param.bytes.size(); ++b) {
    param.bytes[b] = param.side == PlanSide::kSource
                         ? SourceByte(execution, 0, param.family, param.instance, b)
                         : uint8_t{0xEE};
  }
}

// Three executions; every byte of every param against the loopback backend.
void CheckLikeLoopback(const Plan& plan, const DeviceJobOptions& options) {
  StatusOr<std::unique_ptr<LoopbackJob>> reference = LoopbackJob::Create(plan, {});
  REQUIRE(reference.ok());
  {
    StatusOr<std::unique_ptr<DeviceJob>> job =
        DeviceJob::Create(std::make_shared<Plan>(plan), options);
    REQUIRE(job.status().ToString() == "ok");
    for (uint32_t execution = 0; execution < 3; ++execution) {
      CAPTURE(execution);
      for (const LoopbackParam& param : (*reference)->params()) Fill(execution, param);
      for (const DeviceParam& param : (*job)->params()) Fill(execution, param);
      REQUIRE((*reference)->Execute().ToString() == "ok");
      for (const Status& result : (*job)->Execute()) CHECK(result.ToString() == "ok");
      REQUIRE((*job)->params().size() == (*reference)->params().size());
      for (size_t p = 0; p < (*job)->params().size(); ++p) {
        const DeviceParam& found = (*job)->params()[p];
        const LoopbackParam& expected = (*reference)->params()[p];
        CAPTURE(found.rank);
        CAPTURE(found.name);
        CHECK(std::equal(found.bytes.begin(), found.bytes.end(), expected.bytes.begin(),
                         expected.bytes.end()));
      }
    }
  }
}

TEST_CASE("small plans arrive as on loopback, by both paths, in many orders") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const DomainPath path : {DomainPath::kNccl, DomainPath::kDirect}) {
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        CAPTURE(named.name);
        CAPTURE(static_cast<int>(path));
        CAPTURE(seed);
        DeviceJobOptions options;
        options.path = path;
        options.nccl.seed = seed;
        CheckLikeLoopback(named.plan, options);
      }
    }
  }
}

}  // namespace
}  // namespace reshard::nccl
