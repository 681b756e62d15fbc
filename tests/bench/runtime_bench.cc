// Measures the runtime on one machine: loading a plan, preparing, executing. Prints one JSON
// object.
//
// Usage: runtime_bench PLAN [REPEAT]
//
// All ranks of the plan are in this process and used through the C interface; allocations are
// counted while executions run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "reshard/reshard.hpp"
#include "runtime/exec/testing/allocation_count.h"

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// All ranks of a plan, bound to memory of their own.
class Job {
 public:
  explicit Job(const reshard::Plan& plan) {
    const std::vector<uint32_t> numbers = plan.ranks();
    backends_ = reshard::Backend::Loopback(static_cast<uint32_t>(numbers.size()));
    for (size_t r = 0; r < numbers.size(); ++r) {
      executors_.emplace_back(plan, numbers[r], backends_[r]);
      for (const reshard::Param& param : plan.params(numbers[r])) {
        blocks_.emplace_back(static_cast<size_t>(param.bytes) / 8 + 1);
        executors_.back().Bind(param.side, param.name, blocks_.back().data(), param.bytes);
      }
    }
  }
  void Prepare() {
    std::vector<std::thread> threads;
    std::atomic<bool> failed{false};
    for (reshard::Executor& executor : executors_) {
      threads.emplace_back([&] {
        if (reshard_executor_prepare(executor.get(), 0) != RESHARD_OK) failed = true;
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (failed) throw std::runtime_error("preparing failed");
  }
  void Execute(uint64_t generation) {
    for (reshard::Executor& executor : executors_) executor.Start(generation);
    for (reshard::Executor& executor : executors_) executor.Wait();
  }

 private:
  std::vector<std::vector<uint64_t>> blocks_;
  std::vector<reshard::Backend> backends_;
  std::vector<reshard::Executor> executors_;
};

void Measure(const char* path, int repeat) {
  std::vector<double> load, execute;
  execute.reserve(static_cast<size_t>(repeat));  // allocations are counted while it fills
  for (int i = 0; i < repeat; ++i) {
    const auto begin = Clock::now();
    const reshard::Plan plan = reshard::Plan::Load(path);
    load.push_back(Seconds(begin));
  }
  const reshard::Plan plan = reshard::Plan::Load(path);
  auto begin = Clock::now();
  Job job(plan);
  job.Prepare();
  const double prepare = Seconds(begin);
  job.Execute(1);
  const int64_t before = reshard::testing::AllocationCount();
  for (int i = 0; i < repeat; ++i) {
    begin = Clock::now();
    job.Execute(static_cast<uint64_t>(i) + 2);
    execute.push_back(Seconds(begin));
  }
  const int64_t allocations = reshard::testing::AllocationCount() - before;
  const reshard_plan_info info = plan.info();
  std::printf(
      "{\"ranks\": %u, \"rounds\": %u, \"load_seconds\": %.6f, "
      "\"bind_and_prepare_seconds\": %.6f, \"execute_seconds\": %.6f, "
      "\"us_per_round\": %.2f, \"allocations\": %lld}\n",
      info.rank_count, info.round_count, Median(load), prepare, Median(execute),
      Median(execute) * 1e6 / info.round_count, static_cast<long long>(allocations));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: runtime_bench PLAN [REPEAT]\n");
    return 2;
  }
  try {
    Measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 15);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
