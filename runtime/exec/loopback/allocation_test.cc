// Counts the allocations of all threads while a plan is executed.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "runtime/plan/testing/small_plan.h"

namespace {
std::atomic<int64_t> allocation_count{0};
}  // namespace

void* operator new(size_t bytes) {
  ++allocation_count;
  if (void* block = std::malloc(bytes > 0 ? bytes : 1)) return block;
  throw std::bad_alloc();
}
// std::stable_sort takes its buffer from this one and returns it to the common delete.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocation_count;
  return std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace reshard {
namespace {

using std::chrono::seconds;

// All ranks of a plan, prepared.
struct Job {
  Job(const Plan& plan, const ExecutorOptions& options)
      : group(static_cast<uint32_t>(plan.ranks.size())) {
    const auto shared = std::make_shared<SharedPlan>();
    shared->plan = std::make_shared<Plan>(plan);
    shared->index = BuildProgramIndex(plan);
    for (size_t r = 0; r < plan.ranks.size(); ++r) {
      executors.push_back(
          *Executor::Create(shared, plan.ranks[r].rank, group.backends()[r], options));
      for (const ExpectedParam& spec : ParamsOfRank(plan, plan.ranks[r].rank)) {
        blocks.emplace_back(static_cast<size_t>(spec.bytes) / 8 + 1);
        REQUIRE(executors[r]
                    ->Bind({spec.side, spec.name, reinterpret_cast<uint8_t*>(blocks.back().data()),
                            spec.bytes})
                    .ok());
      }
    }
    std::vector<std::thread> threads;
    std::vector<Status> results(executors.size());
    for (size_t r = 0; r < executors.size(); ++r) {
      threads.emplace_back([&, r] { results[r] = executors[r]->Prepare(seconds(60)); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) REQUIRE(result.ToString() == "ok");
  }

  bool Execute(uint64_t generation) {
    bool ok = true;
    for (const auto& executor : executors) ok = executor->Start(nullptr, generation).ok() && ok;
    for (const auto& executor : executors) ok = executor->Wait(seconds(60)).ok() && ok;
    return ok;
  }

  LoopbackGroup group;
  std::vector<std::vector<uint64_t>> blocks;
  std::vector<std::unique_ptr<Executor>> executors;
};

TEST_CASE("executing allocates nothing, in the first execution and in later ones, traced too") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const bool trace : {false, true}) {
      CAPTURE(named.name);
      ExecutorOptions options;
      options.trace = trace;
      Job job(named.plan, options);
      const int64_t before = allocation_count;
      CHECK(before > 0);
      bool ok = true;
      for (uint64_t generation = 1; generation <= 3; ++generation) {
        ok = job.Execute(generation) && ok;
      }
      const int64_t after = allocation_count;
      CHECK(ok);
      CHECK(after - before == 0);
      CHECK(trace == !job.executors[0]->record().spans().empty());
    }
  }
}

}  // namespace
}  // namespace reshard
