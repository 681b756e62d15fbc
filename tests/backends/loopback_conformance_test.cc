// The suite on loopback: every rank is a thread.
#include <algorithm>
#include <numeric>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "tests/backends/conformance_cases.h"
#include "tests/backends/rank_run.h"
#include "tests/property/compiled_job.h"

namespace reshard {
namespace {

std::vector<std::shared_ptr<Backend>> Loopback(uint32_t member_count) {
  return LoopbackGroup(member_count).backends();
}

TEST_CASE("every case, every byte, in two executions") {
  size_t count = 0;
  for (const ConformanceGroup& group : ConformanceSuite()) {
    CAPTURE(group.name);
    CHECK_FALSE(group.cases.empty());
    for (const ConformanceCase& one : group.cases) {
      CAPTURE(one.name);
      CHECK(RunOnThreads(one.make(), Loopback, 2) == "");
      ++count;
    }
  }
  CHECK(count > 61 + 200);
}

// Per rank whether it passes on what comes from its own domain.
std::vector<bool> Carriers(const Plan& plan) {
  std::vector<bool> carries(kConformanceRanks, false);
  for (const PlanInject& inject : plan.injects) {
    const PlanTree& tree = plan.trees[inject.tree];
    const uint32_t head = plan.tree_members[tree.first_member];
    if (head != inject.source && head / 4 == inject.source / 4) carries[head] = true;
  }
  return carries;
}

TEST_CASE("what is called carried is") {
  for (const ConformanceCase& one : CarriedCases()) {
    CAPTURE(one.name);
    LoadedPlan loaded;
    REQUIRE(CompileJob(one.make(), &loaded) == "");
    const std::vector<bool> carries = Carriers(loaded.plan);
    for (uint32_t rank = 0; rank < kConformanceRanks; ++rank) {
      CHECK(carries[rank] == (rank > 0 && rank < 4));
    }
  }
}

TEST_CASE("what is called handed is") {
  for (const ConformanceCase& one : HandedCases()) {
    CAPTURE(one.name);
    LoadedPlan loaded;
    REQUIRE(CompileJob(one.make(), &loaded) == "");
    std::vector<int64_t> handed(8, 0);
    for (const PlanInject& inject : loaded.plan.injects) {
      const uint32_t head = loaded.plan.tree_members[loaded.plan.trees[inject.tree].first_member];
      CHECK(inject.source == 0);
      handed[head] += inject.extent;
    }
    // Each byte once, in seven parts of about 75 KB, or what slices of them can be.
    CHECK(std::accumulate(handed.begin(), handed.end(), int64_t{0}) == 512 * 1024);
    for (uint32_t rank = 1; rank < 8; ++rank) {
      CHECK(handed[rank] > 0);
      CHECK(handed[rank] < 160 * 1024);
    }
  }
}

TEST_CASE("what is called relayed is") {
  for (const ConformanceCase& one : RelayedCases()) {
    LoadedPlan loaded;
    REQUIRE(CompileJob(one.make(), &loaded) == "");
    const std::vector<uint32_t>& members = loaded.plan.tree_members;
    CHECK(std::count(members.begin(), members.end(), 10) > 0);
    for (const RankList& set : loaded.plan.rank_sets) CHECK_FALSE(Contains(set, 10));
  }
}

TEST_CASE("what is called landed is") {
  for (const ConformanceCase& one : LandedCases()) {
    CAPTURE(one.name);
    LoadedPlan loaded;
    REQUIRE(CompileJob(one.make(), &loaded) == "");
    const std::vector<uint32_t>& members = loaded.plan.tree_members;
    for (uint32_t rank = 5; rank < 8; ++rank) {
      CHECK(std::count(members.begin(), members.end(), rank) > 0);
      for (const RankList& set : loaded.plan.rank_sets) CHECK_FALSE(Contains(set, rank));
    }
  }
}

}  // namespace
}  // namespace reshard
