// Counts the allocations of each thread while it executes a plan.
#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/loopback/loopback_world.h"
#include "runtime/plan/testing/small_plan.h"

namespace {
thread_local int64_t allocation_count = 0;
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

TEST_CASE("executing allocates nothing, in the first execution and in later ones") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    const Plan& plan = named.plan;
    const ProgramIndex index = BuildProgramIndex(plan);
    std::vector<LoopbackRank> specs;
    for (const PlanRank& rank : plan.ranks) specs.push_back({rank.rank, rank.staging_bytes()});
    const auto world = *LoopbackWorld::Create(specs);
    std::vector<std::vector<uint64_t>> blocks;
    std::vector<std::unique_ptr<Executor>> executors;
    for (size_t r = 0; r < specs.size(); ++r) {
      std::vector<ParamBuffer> buffers;
      for (const ExpectedParam& spec : ParamsOfRank(plan, specs[r].rank)) {
        blocks.emplace_back(static_cast<size_t>(spec.bytes) / 8 + 1);
        buffers.push_back(
            {spec.side, spec.name, reinterpret_cast<uint8_t*>(blocks.back().data()), spec.bytes});
      }
      executors.push_back(*Executor::Create(plan, index, specs[r].rank,
                                            *BindParams(plan, specs[r].rank, buffers),
                                            world->transport(r)));
    }
    std::vector<int64_t> allocations(specs.size(), -1);
    std::vector<std::thread> threads;
    for (size_t r = 0; r < specs.size(); ++r) {
      threads.emplace_back([&, r] {
        const int64_t before = allocation_count;
        bool ok = true;
        for (int execution = 0; execution < 3; ++execution) {
          ok = ok && executors[r]->Execute({std::chrono::seconds(20)}).ok();
        }
        if (ok) allocations[r] = allocation_count - before;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(allocations == std::vector<int64_t>(specs.size(), 0));
  }
  CHECK(allocation_count > 0);
}

}  // namespace
}  // namespace reshard
