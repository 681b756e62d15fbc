#include "runtime/exec/executor.h"

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using std::chrono::seconds;

// An engine of another backend that changes memory behind the executor's back after an execution.
class MeddlingEngine final : public ExecutionEngine {
 public:
  MeddlingEngine(std::unique_ptr<ExecutionEngine> inner, std::function<void()> meddle)
      : inner_(std::move(inner)), meddle_(std::move(meddle)) {}
  Status SetProgram(PreparedProgram* program) override { return inner_->SetProgram(program); }
  Status Begin(void* stream) override { return inner_->Begin(stream); }
  Status Execute(const ExecuteOptions& options, ExecutionRecord* record) override {
    Status status = inner_->Execute(options, record);
    meddle_();
    return status;
  }
  void Abort(const Status& reason) override { inner_->Abort(reason); }
  Status CopyToHost(const uint8_t* from, std::span<uint8_t> to) override {
    return inner_->CopyToHost(from, to);
  }
  int64_t arena_bytes() const override { return inner_->arena_bytes(); }

 private:
  const std::unique_ptr<ExecutionEngine> inner_;
  const std::function<void()> meddle_;
};

class MeddlingBackend final : public Backend {
 public:
  MeddlingBackend(std::shared_ptr<Backend> inner, bool callers_thread, bool through_engine,
                  std::function<void()> meddle, Status refusal)
      : inner_(std::move(inner)),
        refusal_(std::move(refusal)),
        callers_thread_(callers_thread),
        device_(through_engine ? 0 : kHostDevice),
        meddle_(std::move(meddle)) {}
  std::string_view name() const override { return "meddling"; }
  int32_t device() const override { return device_; }
  bool needs_callers_thread() const override { return callers_thread_; }
  ControlChannel* control() override { return inner_->control(); }
  StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                          Deadline deadline) override {
    if (!refusal_.ok()) return refusal_;
    StatusOr<std::unique_ptr<ExecutionEngine>> inner = inner_->CreateEngine(spec, deadline);
    if (!inner.ok()) return inner.status();
    return std::unique_ptr<ExecutionEngine>(
        std::make_unique<MeddlingEngine>(*std::move(inner), meddle_));
  }

 private:
  const std::shared_ptr<Backend> inner_;
  const Status refusal_;
  const bool callers_thread_;
  const int32_t device_;
  const std::function<void()> meddle_;
};

struct JobOptions {
  ExecutorOptions executor;
  bool callers_thread = false;
  bool through_engine = false;
  // Whose params lie in one memory.
  std::vector<uint32_t> in_place_ranks;
  // That shall compare the content of one execution more than the others.
  uint32_t verifying_rank = UINT32_MAX;
  // Whose backend cannot make an engine.
  uint32_t refusing_rank = UINT32_MAX;
  std::function<void(uint32_t rank)> meddle = [](uint32_t) {};
};

struct Job {
  Job(const Plan& plan, const JobOptions& options)
      : group(static_cast<uint32_t>(plan.ranks.size())) {
    const auto shared = std::make_shared<SharedPlan>();
    shared->plan = std::make_shared<Plan>(plan);
    shared->index = BuildProgramIndex(plan);
    memory.resize(plan.ranks.size());
    for (size_t r = 0; r < plan.ranks.size(); ++r) {
      const uint32_t rank = plan.ranks[r].rank;
      const auto backend = std::make_shared<MeddlingBackend>(
          group.backends()[r], options.callers_thread, options.through_engine,
          [meddle = options.meddle, rank] { meddle(rank); },
          rank == options.refusing_rank ? Status(StatusCode::kLimitExceeded, "no memory")
                                        : Status());
      ExecutorOptions own = options.executor;
      own.verify_executions += rank == options.verifying_rank ? 1 : 0;
      executors.push_back(*Executor::Create(shared, rank, backend, own));
      const bool in_place =
          std::count(options.in_place_ranks.begin(), options.in_place_ranks.end(), rank) > 0;
      for (const ExpectedParam& spec : ParamsOfRank(plan, rank)) {
        if (!in_place || memory[r].empty()) {
          memory[r].emplace_back(static_cast<size_t>(spec.bytes), uint8_t{0xEE});
        }
        ParamBuffer buffer{spec.side, spec.name, memory[r].back().data(), spec.bytes};
        buffer.device = backend->device();
        REQUIRE(executors[r]->Bind(buffer).ok());
      }
    }
  }
  std::vector<Status> OnAll(const std::function<Status(size_t)>& call) {
    std::vector<Status> results(executors.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < executors.size(); ++r) {
      threads.emplace_back([&, r] { results[r] = call(r); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }
  std::vector<Status> Prepare() {
    return OnAll([&](size_t r) { return executors[r]->Prepare(seconds(20)); });
  }
  std::vector<Status> Execute(uint64_t generation) {
    return OnAll([&](size_t r) {
      RESHARD_RETURN_IF_ERROR(executors[r]->Start(nullptr, generation));
      return executors[r]->Wait(seconds(60)).status();
    });
  }

  LoopbackGroup group;
  std::vector<std::vector<std::vector<uint8_t>>> memory;  // per rank and param
  std::vector<std::unique_ptr<Executor>> executors;
};

void CheckOk(const std::vector<Status>& results) {
  for (const Status& result : results) CHECK(result.ToString() == "ok");
}

// Row r of the colocated matrix.
void FillRows(Job* job) {
  for (size_t r = 0; r < 4; ++r) {
    std::memset(job->memory[r][0].data(), static_cast<int>(r + 1), job->memory[r][0].size());
  }
}

TEST_CASE("a param in place stays where it is, and everything else arrives") {
  JobOptions options;
  options.in_place_ranks = {3};
  Job job(testing::ColocatedPlan(), options);
  CheckOk(job.Prepare());
  CHECK(job.executors[3]->program()->bindings.in_place(
      job.executors[3]->program()->params[0].family, 0));
  FillRows(&job);
  CheckOk(job.Execute(1));
  REQUIRE(job.memory[3].size() == 1);
  CHECK(job.memory[3][0] == std::vector<uint8_t>(128, 4));
  for (size_t r = 0; r < 3; ++r) {
    for (size_t b = 0; b < 512; ++b) REQUIRE(job.memory[r][1][b] == b / 128 + 1);
  }
  // Nothing was copied into it, and it counts as complete.
  CHECK(job.executors[3]->record().bytes().delivered == 0);
  CHECK(job.executors[3]->CompleteParams() == std::vector<bool>{true});
}

TEST_CASE("an execution may run inside wait, on the caller's thread") {
  JobOptions options;
  options.callers_thread = true;
  std::vector<std::thread::id> ran_on(4), called_on(4);
  options.meddle = [&](uint32_t rank) { ran_on[rank] = std::this_thread::get_id(); };
  Job job(testing::ColocatedPlan(), options);
  CheckOk(job.Prepare());
  FillRows(&job);
  CheckOk(job.OnAll([&](size_t r) {
    called_on[r] = std::this_thread::get_id();
    RESHARD_RETURN_IF_ERROR(job.executors[r]->Start(nullptr, 1));
    return job.executors[r]->Wait(seconds(0)).status();
  }));
  CHECK(ran_on == called_on);
  CHECK(job.memory[0][1][511] == 4);
}

TEST_CASE("the content check passes what is right, in host memory and through an engine") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    for (const bool through_engine : {false, true}) {
      CAPTURE(named.name);
      JobOptions options;
      options.through_engine = through_engine;
      options.executor.verify_executions = 2;
      Job job(named.plan, options);
      CheckOk(job.Prepare());
      CheckOk(job.Execute(1));
      CheckOk(job.Execute(2));
      CheckOk(job.Execute(3));
    }
  }
}

TEST_CASE("one wrong byte of a destination is found and named on every rank") {
  Job* meddled = nullptr;
  JobOptions options;
  options.executor.verify_executions = 1;
  options.meddle = [&](uint32_t rank) {
    if (rank == 2) meddled->memory[2][1][500] ^= 1;
  };
  Job job(testing::ColocatedPlan(), options);
  meddled = &job;
  CheckOk(job.Prepare());
  FillRows(&job);
  for (const Status& result : job.Execute(1)) {
    CHECK(result.code() == StatusCode::kCorruptData);
    CHECK(result.message() ==
          "the content check failed: rank 2 holds other bytes than its source rank 3 of 'w'");
  }
  // Beyond the executions to be verified nobody looks.
  JobOptions unchecked = options;
  unchecked.executor.verify_executions = 0;
  Job blind(testing::ColocatedPlan(), unchecked);
  meddled = &blind;
  CheckOk(blind.Prepare());
  CheckOk(blind.Execute(1));
}

TEST_CASE("ranks that shall verify different numbers of executions cannot be prepared") {
  JobOptions options;
  options.verifying_rank = 2;
  Job job(testing::ToyPlan(), options);
  for (const Status& result : job.Prepare()) {
    CHECK(result.ToString() ==
          "verify_executions has to be the same on all ranks: 0 on ranks 0-1,3-5, 1 on rank 2 "
          "[invalid-argument]");
  }
}

TEST_CASE("source replicas that differ are found") {
  JobOptions options;
  options.executor.verify_executions = 1;
  Job job(testing::ReplicatedPlan(), options);
  CheckOk(job.Prepare());
  job.memory[1][0][77] ^= 4;
  const Status result = job.Execute(1)[5];
  CHECK(result.code() == StatusCode::kCorruptData);
  CHECK(result.message().find("sources rank 0 and rank 1 hold different bytes of ") !=
        std::string::npos);
}

TEST_CASE("destroying an executor ends an execution on all ranks") {
  Job job(testing::ToyPlan(), {});
  CheckOk(job.Prepare());
  for (size_t r = 1; r < 6; ++r) REQUIRE(job.executors[r]->Start(nullptr, 1).ok());
  job.executors[1].reset();
  for (size_t r = 2; r < 6; ++r) {
    const StatusOr<bool> over = job.executors[r]->Wait(seconds(20));
    REQUIRE_FALSE(over.ok());
    CHECK(over.status().code() == StatusCode::kAborted);
    CHECK(over.status().message().find("rank 1 failed: its executor was destroyed") !=
          std::string::npos);
    CHECK(over.status().message().find("'w.columns' is incomplete") != std::string::npos);
  }
}

TEST_CASE("a failure names the peer, the round and the params on both sides") {
  JobOptions options;
  // Long enough that on a busy machine nobody else is late.
  options.executor.wait_timeout = seconds(1);
  Job job(testing::ToyPlan(), options);
  CheckOk(job.Prepare());
  // Rank 4 does not come.
  const std::vector<Status> results = job.OnAll([&](size_t r) {
    if (r == 4) return Status();
    RESHARD_RETURN_IF_ERROR(job.executors[r]->Start(nullptr, 1));
    return job.executors[r]->Wait(seconds(20)).status();
  });
  for (const size_t source : {size_t{0}, size_t{1}}) {
    CHECK_FALSE(results[source].ok());
    INFO(results[source].message());
    // The waits of round 0 and those of round 1 that depend on them end at about the same time.
    const std::string& text = results[source].message();
    const bool direct =
        text.find("rank 4 did not take its message of step 1") != std::string::npos &&
        text.find("round 0 of execution 0") != std::string::npos;
    const bool in_the_end = text.find("it waits, in the end, for rank 4") != std::string::npos &&
                            text.find("round 1 of execution 0") != std::string::npos;
    CHECK((direct || in_the_end));
    CHECK(results[source].message().find("; it was sending 'w.rows'") != std::string::npos);
  }
}

TEST_CASE("no generation is committed in buffers that never received it") {
  Job job(testing::ToyPlan(), {});
  const auto commit = [&](size_t r) { return job.executors[r]->Commit(seconds(20)).status(); };
  CheckOk(job.Prepare());
  CheckOk(job.Execute(1));
  CheckOk(job.OnAll(commit));
  // The same buffers, prepared again, still hold it.
  CheckOk(job.Prepare());
  CheckOk(job.OnAll(commit));
  CHECK(job.executors[4]->CompleteParams() == std::vector<bool>{true});

  const Plan plan = testing::ToyPlan();
  const ExpectedParam spec = ParamsOfRank(plan, 4)[0];
  std::vector<uint8_t> fresh(static_cast<size_t>(spec.bytes));
  REQUIRE(job.executors[4]->Unbind().ok());
  CHECK(job.executors[4]->complete_generation() == Executor::kNoGeneration);
  CHECK(job.executors[4]->CompleteParams() == std::vector<bool>{false});
  REQUIRE(job.executors[4]->Bind({spec.side, spec.name, fresh.data(), spec.bytes}).ok());
  CheckOk(job.Prepare());
  CHECK(job.executors[4]->CompleteParams() == std::vector<bool>{false});
  for (const Status& result : job.OnAll(commit)) {
    CHECK(result.ToString() ==
          "the replica does not hold one generation: rank 0 has completed 1, rank 4 holds none "
          "since its params were bound [aborted]");
  }
  CheckOk(job.Execute(2));
  CheckOk(job.OnAll(commit));
  CHECK(job.executors[4]->complete_generation() == 2);
}

TEST_CASE("after a prepare that failed no rank starts until one succeeds") {
  Job job(testing::ToyPlan(), {});
  CheckOk(job.Prepare());
  CheckOk(job.Execute(1));
  const Plan plan = testing::ToyPlan();
  const ExpectedParam spec = ParamsOfRank(plan, 3)[0];
  REQUIRE(job.executors[3]->Unbind().ok());
  for (const Status& result : job.Prepare()) CHECK_FALSE(result.ok());
  for (const auto& executor : job.executors) {
    CHECK(executor->Start(nullptr, 2).code() == StatusCode::kWrongOrder);
    CHECK_FALSE(executor->failed());
  }
  REQUIRE(job.executors[3]->Bind({spec.side, spec.name, job.memory[3][0].data(), spec.bytes}).ok());
  CheckOk(job.Prepare());
  CheckOk(job.Execute(2));
}

TEST_CASE("ranks that all hold nothing commit nothing") {
  Job job(testing::ToyPlan(), {});
  CheckOk(job.Prepare());
  CheckOk(job.Execute(1));
  for (const auto& executor : job.executors) REQUIRE(executor->Unbind().ok());
  for (const Status& result :
       job.OnAll([&](size_t r) { return job.executors[r]->Commit(seconds(20)).status(); })) {
    CHECK(result.code() == StatusCode::kAborted);
    CHECK(result.message().starts_with(
        "the replica does not hold one generation: rank 0 holds none since its params were bound, "
        "rank 1 holds none since its params were bound, "));
  }
}

TEST_CASE("a rank that completed nothing is said not to have completed, once") {
  Job job(testing::ToyPlan(), {});
  CheckOk(job.Prepare());
  job.executors[0]->Abort("no");
  for (const Status& result : job.Execute(1)) CHECK_FALSE(result.ok());
  const std::vector<Status> results =
      job.OnAll([&](size_t r) { return job.executors[r]->Commit(seconds(20)).status(); });
  for (const Status& result : results) {
    CHECK(
        result.message().starts_with("the replica does not hold one generation: "
                                     "rank 0 did not complete 1, rank 1 did not complete 1, "));
  }
}

TEST_CASE("an abort before the first prepare, or during it, fails it on every rank") {
  for (const bool during : {false, true}) {
    CAPTURE(during);
    Job job(testing::ToyPlan(), {});
    if (!during) job.executors[2]->Abort("cancelled");
    const std::vector<Status> results = job.OnAll([&](size_t r) {
      if (during && r == 1) {  // rank 2 waits for this one
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        job.executors[2]->Abort("cancelled");
      }
      return job.executors[r]->Prepare(seconds(20));
    });
    for (size_t r = 0; r < results.size(); ++r) {
      CAPTURE(r);
      CHECK(results[r].code() == StatusCode::kAborted);
      CHECK(results[r].message().find("cancelled") != std::string::npos);
      CHECK(job.executors[r]->Start(nullptr, 1).code() ==
            (during ? StatusCode::kAborted : StatusCode::kWrongOrder));
    }
    if (!during) {  // it was said
      CheckOk(job.Prepare());
      CheckOk(job.Execute(1));
    }
  }
}

TEST_CASE("a rank that cannot connect is an error on every rank, for good") {
  JobOptions options;
  options.refusing_rank = 3;
  Job job(testing::ToyPlan(), options);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::vector<Status> results = job.Prepare();
    for (size_t r = 0; r < results.size(); ++r) {
      CHECK(results[r].ToString() ==
            (r == 3 ? "no memory [limit-exceeded]" : "rank 3 failed: no memory [aborted]"));
      CHECK(job.executors[r]->Start(nullptr, 1) == results[r]);
    }
  }
}

TEST_CASE("a group of another size than the plan is refused on every member") {
  const Plan plan = testing::ToyPlan();
  const auto shared = std::make_shared<SharedPlan>();
  shared->plan = std::make_shared<Plan>(plan);
  shared->index = BuildProgramIndex(plan);
  const LoopbackGroup alone(1);
  const auto executor = *Executor::Create(shared, 0, alone.backends()[0], {});
  std::vector<uint8_t> rows(128);
  REQUIRE(executor->Bind({PlanSide::kSource, "w.rows", rows.data(), 128}).ok());
  const Status status = executor->Prepare(seconds(20));
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(status.message() == "1 members for a plan of 6 ranks: no member for ranks 1-5");
}

}  // namespace
}  // namespace reshard
