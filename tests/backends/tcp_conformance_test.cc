// The suite on TCP: every rank is a thread, connected to the others by sockets of this host.
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/tcp/testing/local_members.h"
#include "tests/backends/conformance_cases.h"
#include "tests/backends/rank_run.h"

namespace reshard {
namespace {

using Backends = std::vector<std::shared_ptr<Backend>>;

// Backends are kept, by number of members: a trainer too makes several executors of one.
void RunSuite(bool shared_memory, size_t every) {
  std::map<uint32_t, Backends> kept;
  const MakeBackends backends = [&](uint32_t member_count) {
    auto found = kept.find(member_count);
    if (found == kept.end()) {
      TcpBackendOptions options;
      options.shared_memory = shared_memory;
      found = kept.emplace(member_count, testing::LocalTcpBackends(member_count, options)).first;
      REQUIRE(found->second.size() == member_count);
    }
    return found->second;
  };
  size_t count = 0;
  for (const ConformanceGroup& group : ConformanceSuite()) {
    CAPTURE(group.name);
    CHECK_FALSE(group.cases.empty());
    for (size_t c = 0; c < group.cases.size(); c += every) {
      CAPTURE(group.cases[c].name);
      CHECK(RunOnThreads(group.cases[c].make(), backends, 2) == "");
      ++count;
    }
  }
  CHECK(count > (61 + 200) / every);
}

TEST_CASE("every case, every byte, in two executions; domains share memory") { RunSuite(true, 1); }

TEST_CASE("a quarter of the cases; domains exchange messages as between hosts") {
  RunSuite(false, 4);
}

}  // namespace
}  // namespace reshard
