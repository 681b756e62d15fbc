#include "runtime/exec/nccl/domain_reads.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard::nccl {
namespace {

TEST_CASE("a lander knows what its neighbours read, slice by slice") {
  // Rank 2 receives four slices of 1024 bytes into three slots; rank 3 needs all of them.
  const Plan plan = testing::ReplicatedPlan();
  const ProgramIndex index = BuildProgramIndex(plan);
  const std::vector<uint32_t> readers = {3};
  const std::vector<DomainRead> reads = ReadsFrom(plan, index, 2, readers);
  REQUIRE(reads.size() == 4);
  for (uint32_t round = 0; round < 4; ++round) {
    CHECK(reads[round].reader == 3);
    CHECK(reads[round].round == round);
    CHECK(reads[round].arena_offset == round % 3 * 1024);
    CHECK(reads[round].extent == 1024);
  }
}

TEST_CASE("what a rank lands for itself, or does not land, is no read") {
  const Plan plan = testing::ReplicatedPlan();
  const ProgramIndex index = BuildProgramIndex(plan);
  CHECK(ReadsFrom(plan, index, 3, std::vector<uint32_t>{2}).empty());
  CHECK(ReadsFrom(plan, index, 2, std::vector<uint32_t>{}).empty());
  CHECK(ReadsFrom(plan, index, 5, std::vector<uint32_t>{2, 3}).empty());
}

}  // namespace
}  // namespace reshard::nccl
