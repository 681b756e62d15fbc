// The suite on TCP: every rank is a thread, connected to the others by sockets of this host.
#include <map>
#include <thread>
#include <utility>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_control.h"
#include "runtime/exec/tcp/tcp_backend.h"
#include "tests/backends/conformance_cases.h"
#include "tests/backends/rank_run.h"

namespace reshard {
namespace {

using Backends = std::vector<std::shared_ptr<Backend>>;

Backends Connect(uint32_t member_count, bool shared_memory) {
  const auto control = MakeLoopbackControl(member_count);
  Backends backends(member_count);
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < member_count; ++m) {
    threads.emplace_back([&, m] {
      TcpBackendOptions options;
      options.shared_memory = shared_memory;
      StatusOr<std::shared_ptr<Backend>> made = MakeTcpBackend(control[m].get(), options);
      if (made.ok()) backends[m] = *std::move(made);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::shared_ptr<Backend>& backend : backends) REQUIRE(backend != nullptr);
  return backends;
}

// Backends are kept, by number of members: a trainer too makes several executors of one.
void RunSuite(bool shared_memory, size_t every) {
  std::map<uint32_t, Backends> kept;
  const MakeBackends backends = [&](uint32_t member_count) {
    auto found = kept.find(member_count);
    if (found == kept.end()) {
      found = kept.emplace(member_count, Connect(member_count, shared_memory)).first;
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
