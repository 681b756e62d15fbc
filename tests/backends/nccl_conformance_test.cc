// The suite on the NCCL backend over the double of CUDA and NCCL, every rank a thread: by both
// paths inside domains, in several orders.
#include <memory>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/nccl/double/host_backends.h"
#include "tests/backends/conformance_cases.h"
#include "tests/backends/rank_run.h"

namespace reshard::nccl {
namespace {

std::vector<std::shared_ptr<Backend>> BackendsOn(uint32_t member_count,
                                                 const HostBackendOptions& options) {
  StatusOr<HostBackends> made = MakeHostBackends(member_count, options);
  REQUIRE(made.status().ToString() == "ok");
  return {made->backends.begin(), made->backends.end()};
}

// Every case, or one of `every`.
size_t RunSuite(HostBackendOptions options, size_t every = 1) {
  // The suite keeps its params in ordinary memory.
  options.unified_memory = true;
  size_t count = 0;
  size_t run_count = 0;
  for (const ConformanceGroup& group : ConformanceSuite()) {
    CAPTURE(group.name);
    CHECK_FALSE(group.cases.empty());
    for (const ConformanceCase& one : group.cases) {
      CAPTURE(one.name);
      options.nccl.seed = ++count;
      if (count % every != 0) continue;
      ++run_count;
      const auto make = [&](uint32_t members) { return BackendsOn(members, options); };
      CHECK(RunOnThreads(one.make(), make, 2) == "");
    }
  }
  return run_count;
}

constexpr size_t kCases = 61 + 200;  // of NCCL M2N, and more

TEST_CASE("inside domains through NCCL, every case, every byte, in two executions") {
  HostBackendOptions options;
  options.path = DomainPath::kNccl;
  CHECK(RunSuite(options) > kCases);
}

TEST_CASE("inside domains directly, with streams that dawdle: every other case") {
  HostBackendOptions options;
  options.path = DomainPath::kDirect;
  options.jitter_seed = 1;
  CHECK(RunSuite(options, 2) > kCases / 2);
}

TEST_CASE("groups cut small, nothing packed that need not be, control over NCCL: a quarter") {
  HostBackendOptions options;
  options.path = DomainPath::kNccl;
  options.tuning.group_operations = 4;
  options.tuning.phase_ranks = 2;
  options.tuning.zero_copy_bytes = 1;
  options.control_over_nccl = true;
  CHECK(RunSuite(options, 4) > kCases / 4);
}

}  // namespace
}  // namespace reshard::nccl
