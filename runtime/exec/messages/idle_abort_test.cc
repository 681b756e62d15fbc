#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/tcp/testing/local_members.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using std::chrono::seconds;

// Ranks 0 and 1 are sources, which all others need.
struct ToyJob {
  std::vector<std::vector<uint64_t>> blocks;
  std::vector<std::unique_ptr<Executor>> executors;

  ToyJob() {
    const auto shared = std::make_shared<SharedPlan>();
    shared->plan = std::make_shared<Plan>(testing::ToyPlan());
    shared->index = BuildProgramIndex(*shared->plan);
    const Plan& plan = *shared->plan;
    const auto backends = testing::LocalTcpBackends(static_cast<uint32_t>(plan.ranks.size()));
    REQUIRE(backends.size() == plan.ranks.size());
    for (size_t r = 0; r < plan.ranks.size(); ++r) {
      ExecutorOptions options;
      options.wait_timeout = seconds(60);
      executors.push_back(*Executor::Create(shared, plan.ranks[r].rank, backends[r], options));
      for (const ExpectedParam& spec : ParamsOfRank(plan, plan.ranks[r].rank)) {
        blocks.emplace_back(static_cast<size_t>(spec.bytes) / 8 + 1);
        REQUIRE(executors[r]
                    ->Bind({spec.side, spec.name, reinterpret_cast<uint8_t*>(blocks.back().data()),
                            spec.bytes})
                    .ok());
      }
    }
    OnRanksFrom(0, [](Executor* executor) { CHECK(executor->Prepare(seconds(60)).ok()); });
  }

  template <class Call>
  void OnRanksFrom(size_t first, Call call) {
    std::vector<std::thread> threads;
    for (size_t r = first; r < executors.size(); ++r) {
      threads.emplace_back([&, r] { call(executors[r].get()); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // Rank 0 runs no execution and was aborted: it makes no call, and its worker tells the others.
  void CheckOthersLearn(uint64_t generation, const std::string& reason) {
    for (size_t r = 2; r < executors.size(); ++r) {
      REQUIRE(executors[r]->Start(nullptr, generation).ok());
    }
    for (size_t r = 2; r < executors.size(); ++r) {
      const StatusOr<bool> waited = executors[r]->Wait(seconds(300));
      CHECK(waited.status().code() == StatusCode::kAborted);
      CHECK(waited.status().message().find("rank 0 failed: " + reason) == 0);
    }
  }
};

TEST_CASE("an abort on a rank that runs no execution ends those of the others") {
  ToyJob job;
  for (size_t r = 2; r < job.executors.size(); ++r) {
    REQUIRE(job.executors[r]->Start(nullptr, 1).ok());
  }
  std::thread([&] { job.executors[0]->Abort("the trainer ends"); }).join();
  for (size_t r = 2; r < job.executors.size(); ++r) {
    const StatusOr<bool> waited = job.executors[r]->Wait(seconds(300));
    CHECK(waited.status().code() == StatusCode::kAborted);
    CHECK(waited.status().message().find("rank 0 failed: the trainer ends") == 0);
  }
  // The rank itself, too, has to begin anew.
  REQUIRE(job.executors[0]->Start(nullptr, 1).ok());
  CHECK(job.executors[0]->Wait(seconds(300)).status() ==
        Status(StatusCode::kAborted, "rank 0 failed: the trainer ends; it was sending 'w.rows'"));
}

TEST_CASE("an abort while its rank commits is told after that") {
  ToyJob job;
  job.OnRanksFrom(0, [](Executor* executor) {
    REQUIRE(executor->Start(nullptr, 1).ok());
    CHECK(executor->Wait(seconds(300)).ok());
  });
  StatusOr<uint64_t> committed = Executor::kNoGeneration;
  std::thread commits([&] { committed = job.executors[0]->Commit(seconds(300)); });
  // It waits for all others, or has not begun to: right in both cases.
  job.executors[0]->Abort("no more");
  job.OnRanksFrom(1, [](Executor* executor) { CHECK(executor->Commit(seconds(300)).ok()); });
  commits.join();
  REQUIRE(committed.ok());
  CHECK(*committed == 1);
  job.CheckOthersLearn(2, "no more");
}

TEST_CASE("an abort is told before its executor ends") {
  ToyJob job;
  job.executors[0]->Abort("and away");
  job.executors[0].reset();
  job.CheckOthersLearn(1, "and away");
}

}  // namespace
}  // namespace reshard
