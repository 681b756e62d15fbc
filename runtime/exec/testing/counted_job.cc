#include "runtime/exec/testing/counted_job.h"

#include <chrono>
#include <thread>

#include "runtime/exec/bindings.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/testing/allocation_count.h"
#include "runtime/plan/program.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard::testing {
namespace {

using std::chrono::seconds;

// All ranks of a plan.
struct Job {
  std::vector<std::vector<uint64_t>> blocks;
  std::vector<std::unique_ptr<Executor>> executors;

  std::string Prepare(const Plan& plan, const std::vector<std::shared_ptr<Backend>>& backends,
                      const ExecutorOptions& options) {
    const auto shared = std::make_shared<SharedPlan>();
    shared->plan = std::make_shared<Plan>(plan);
    shared->index = BuildProgramIndex(plan);
    for (size_t r = 0; r < plan.ranks.size(); ++r) {
      executors.push_back(*Executor::Create(shared, plan.ranks[r].rank, backends[r], options));
      for (const ExpectedParam& spec : ParamsOfRank(plan, plan.ranks[r].rank)) {
        blocks.emplace_back(static_cast<size_t>(spec.bytes) / 8 + 1);
        const Status bound = executors[r]->Bind(
            {spec.side, spec.name, reinterpret_cast<uint8_t*>(blocks.back().data()), spec.bytes});
        if (!bound.ok()) return bound.ToString();
      }
    }
    std::vector<std::thread> threads;
    std::vector<Status> results(executors.size());
    for (size_t r = 0; r < executors.size(); ++r) {
      threads.emplace_back([&, r] { results[r] = executors[r]->Prepare(seconds(60)); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) {
      if (!result.ok()) return result.ToString();
    }
    return "";
  }

  bool Execute(uint64_t generation) {
    bool ok = true;
    for (const auto& executor : executors) ok = executor->Start(nullptr, generation).ok() && ok;
    for (const auto& executor : executors) ok = executor->Wait(seconds(60)).ok() && ok;
    return ok;
  }
};

}  // namespace

std::string ExecuteCounted(const MakeJobBackends& make_backends) {
  for (const NamedPlan& named : SmallPlans()) {
    for (const bool trace : {false, true}) {
      ExecutorOptions options;
      options.trace = trace;
      Job job;
      const std::string problem = job.Prepare(
          named.plan, make_backends(static_cast<uint32_t>(named.plan.ranks.size())), options);
      if (!problem.empty()) return named.name + ": " + problem;
      const int64_t before = AllocationCount();
      bool ok = true;
      for (uint64_t generation = 1; generation <= 3; ++generation) {
        ok = job.Execute(generation) && ok;
      }
      const int64_t allocated = AllocationCount() - before;
      if (!ok) return named.name + ": an execution failed";
      if (trace == job.executors[0]->record().spans().empty()) return named.name + ": the trace";
      if (allocated != 0) return named.name + ": " + std::to_string(allocated) + " allocations";
    }
  }
  return AllocationCount() > 0 ? "" : "nothing is counted";
}

}  // namespace reshard::testing
