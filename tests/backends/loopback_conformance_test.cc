// The suite on loopback: every rank is a thread.
#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "tests/backends/conformance_cases.h"
#include "tests/backends/rank_run.h"

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

}  // namespace
}  // namespace reshard
