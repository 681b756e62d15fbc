// What the C interface says when it is used wrongly, and when a rank fails.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "reshard/reshard.h"
#include "runtime/plan/testing/small_plan.h"
#include "tests/c_api/c_job.h"

namespace reshard::testing {
namespace {

void CheckAll(const std::vector<CJob::Outcome>& outcomes, reshard_result expected = RESHARD_OK) {
  for (const CJob::Outcome& outcome : outcomes) {
    INFO(outcome.error);
    CHECK(std::string(reshard_result_name(outcome.result)) == reshard_result_name(expected));
  }
}

bool Has(const std::string& text, const std::string& part) {
  INFO(text);
  const bool has = text.find(part) != std::string::npos;
  CHECK(has);
  return has;
}

TEST_CASE("handles that are null, freed, of another kind or made up") {
  reshard_plan* plan = LoadCPlan(ToyPlan());
  reshard_plan_info info{};
  info.struct_size = sizeof(info);
  CHECK(reshard_plan_get_info(nullptr, &info) == RESHARD_ERROR_BAD_HANDLE);
  CHECK(reshard_executor_start(reinterpret_cast<reshard_executor*>(plan), nullptr, 1) ==
        RESHARD_ERROR_BAD_HANDLE);
  int on_stack = 0;
  CHECK(reshard_backend_destroy(reinterpret_cast<reshard_backend*>(&on_stack)) ==
        RESHARD_ERROR_BAD_HANDLE);
  CHECK(reshard_plan_free(plan) == RESHARD_OK);
  CHECK(ErrorOf(reshard_plan_free(plan), RESHARD_ERROR_BAD_HANDLE) ==
        "the handle is of no plan that exists");
  CHECK(reshard_plan_get_info(plan, &info) == RESHARD_ERROR_BAD_HANDLE);
  reshard_plan* other = LoadCPlan(ToyPlan());
  CHECK(other != plan);
  reshard_plan_free(other);
}

TEST_CASE("null arguments and struct sizes") {
  reshard_plan* plan = LoadCPlan(ToyPlan());
  CHECK(ErrorOf(reshard_plan_get_info(plan, nullptr), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "info is NULL");
  reshard_plan_info info{};
  CHECK(Has(ErrorOf(reshard_plan_get_info(plan, &info), RESHARD_ERROR_INVALID_ARGUMENT),
            "reshard_plan_info has a struct_size of 0, expected "));
  // A caller of a later version: what it sets beyond this version has to be zero.
  struct Later {
    reshard_loopback_options options;
    uint64_t added;
  } later{};
  later.options.struct_size = sizeof(later);
  std::vector<reshard_backend*> backends(1);
  REQUIRE(reshard_backend_loopback_create(1, &later.options, backends.data()) == RESHARD_OK);
  reshard_backend_destroy(backends[0]);
  later.added = 1;
  CHECK(Has(ErrorOf(reshard_backend_loopback_create(1, &later.options, backends.data()),
                    RESHARD_ERROR_INVALID_ARGUMENT),
            "sets a field that this version"));
  CHECK(reshard_backend_loopback_create(0, nullptr, backends.data()) ==
        RESHARD_ERROR_INVALID_ARGUMENT);
  reshard_loopback_options backwards = RESHARD_LOOPBACK_OPTIONS_INIT;
  backwards.pace = -1;
  CHECK(ErrorOf(reshard_backend_loopback_create(1, &backwards, backends.data()),
                RESHARD_ERROR_INVALID_ARGUMENT) == "pace is no number from 0 to 1e9");
  reshard_plan_free(plan);
}

TEST_CASE("calls out of order change nothing") {
  CJob job(ToyPlan());
  reshard_executor* executor = job.ranks()[0].executor;
  CHECK(ErrorOf(reshard_executor_start(executor, nullptr, 1), RESHARD_ERROR_WRONG_ORDER) ==
        "the executor is not prepared, or params were bound since");
  CHECK(ErrorOf(reshard_executor_wait(executor, 0), RESHARD_ERROR_WRONG_ORDER) ==
        "no execution runs");
  CHECK(ErrorOf(reshard_executor_commit(executor, 0, nullptr), RESHARD_ERROR_WRONG_ORDER) ==
        "nothing was executed yet");
  CheckAll(job.Prepare());
  CHECK(reshard_executor_start(executor, nullptr, 0) == RESHARD_ERROR_INVALID_ARGUMENT);
  int stream = 0;
  CHECK(Has(ErrorOf(reshard_executor_start(executor, &stream, 1), RESHARD_ERROR_INVALID_ARGUMENT),
            "a stream is given"));
  for (CJob::Rank& rank : job.ranks()) {
    if (rank.rank != 1) REQUIRE(reshard_executor_start(rank.executor, nullptr, 7) == RESHARD_OK);
  }
  CHECK(ErrorOf(reshard_executor_start(executor, nullptr, 8), RESHARD_ERROR_WRONG_ORDER) ==
        "an execution runs already: wait for it before starting another");
  CHECK(reshard_executor_prepare(executor, 0) == RESHARD_ERROR_WRONG_ORDER);
  CHECK(reshard_executor_unbind(executor) == RESHARD_ERROR_WRONG_ORDER);
  CHECK(reshard_executor_commit(executor, 0, nullptr) == RESHARD_ERROR_WRONG_ORDER);
  REQUIRE(reshard_executor_start(job.ranks()[1].executor, nullptr, 7) == RESHARD_OK);
  for (CJob::Rank& rank : job.ranks()) {
    CHECK(reshard_executor_wait(rank.executor, RESHARD_FOREVER) == RESHARD_OK);
  }
  CHECK(ErrorOf(reshard_executor_start(executor, nullptr, 7), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "generation 7 does not follow generation 7");
  CHECK(reshard_executor_wait(executor, -1) == RESHARD_ERROR_INVALID_ARGUMENT);
  CHECK(ErrorOf(reshard_executor_write_trace(executor, "/tmp/x"), RESHARD_ERROR_WRONG_ORDER) ==
        "the executor was created without trace");
}

TEST_CASE("two threads at once: the second is refused") {
  CJob job(ToyPlan());
  CheckAll(job.Prepare());
  reshard_executor* executor = job.ranks()[2].executor;
  REQUIRE(reshard_executor_start(executor, nullptr, 1) == RESHARD_OK);
  std::atomic<bool> inside{false};
  std::thread waiting([&] {
    inside = true;
    CHECK(reshard_executor_wait(executor, 400'000'000) == RESHARD_PENDING);
  });
  while (!inside) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  reshard_stats stats{};
  stats.struct_size = sizeof(stats);
  CHECK(reshard_executor_get_stats(executor, &stats) == RESHARD_ERROR_BUSY);
  CHECK(reshard_executor_destroy(executor) == RESHARD_ERROR_BUSY);
  waiting.join();
  // Abort may always come.
  CHECK(reshard_executor_abort(executor, "enough") == RESHARD_OK);
  CHECK(Has(ErrorOf(reshard_executor_wait(executor, RESHARD_FOREVER), RESHARD_ERROR_ABORTED),
            "enough"));
}

TEST_CASE("a param bound twice is refused at once, all else together by prepare, on every rank") {
  CJob job(ToyPlan());
  CJob::Rank& rank = job.ranks()[3];
  reshard_buffer bound = RESHARD_BUFFER_INIT;
  bound.name = "w.columns";
  bound.side = RESHARD_DESTINATION;
  bound.data = rank.buffers[0].data();
  bound.bytes = 64;
  CHECK(ErrorOf(reshard_executor_bind(rank.executor, &bound), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "'w.columns' is bound already");
  REQUIRE(reshard_executor_unbind(rank.executor) == RESHARD_OK);
  bound.bytes = 60;
  REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  bound.name = "w.rows";
  REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  const std::vector<CJob::Outcome> outcomes = job.Prepare();
  CHECK(outcomes[3].result == RESHARD_ERROR_INVALID_ARGUMENT);
  CHECK(Has(outcomes[3].error, "'w.columns' has 60 bytes, expected 64"));
  CHECK(Has(outcomes[3].error, "rank 3 has no destination param 'w.rows'"));
  CHECK(outcomes[0].result == RESHARD_ERROR_ABORTED);
  CHECK(Has(outcomes[0].error, "rank 3 failed: 'w.columns' has 60 bytes"));
  // Nothing is lost: the rank binds again, and all prepare again.
  REQUIRE(reshard_executor_unbind(rank.executor) == RESHARD_OK);
  bound.name = "w.columns";
  bound.bytes = 64;
  REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  CheckAll(job.Prepare());
  CheckAll(job.Execute(1));
}

TEST_CASE("dtype, shape, strides and device of a buffer are compared with the plan") {
  CJob job(ToyPlan());
  CJob::Rank& rank = job.ranks()[3];
  REQUIRE(reshard_executor_unbind(rank.executor) == RESHARD_OK);
  reshard_buffer bound = RESHARD_BUFFER_INIT;
  const std::vector<int64_t> shape = {8, 2}, transposed = {1, 8};
  bound.name = "w.columns";
  bound.side = RESHARD_DESTINATION;
  bound.data = rank.buffers[0].data();
  bound.bytes = 64;
  bound.dtype = "f16";
  bound.device = 1;
  bound.shape = shape.data();
  bound.strides = transposed.data();
  bound.dim_count = 2;
  REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  const std::string error = job.Prepare()[3].error;
  CHECK(Has(error, "'w.columns' is f16, expected f32"));
  CHECK(Has(error, "'w.columns' is in device 1, expected host memory"));
  CHECK(Has(error, "'w.columns' has strides [1, 8], expected row-major [2, 1]"));
  REQUIRE(reshard_executor_unbind(rank.executor) == RESHARD_OK);
  bound.dtype = nullptr;
  bound.device = RESHARD_HOST_DEVICE;
  bound.shape = nullptr;
  REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  CHECK(Has(job.Prepare()[3].error, "'w.columns' has strides [1, 8], expected row-major [2, 1]"));
  REQUIRE(reshard_executor_unbind(rank.executor) == RESHARD_OK);
  bound.dtype = "float32";
  CHECK(ErrorOf(reshard_executor_bind(rank.executor, &bound), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "'w.columns': there is no dtype 'float32'");
}

TEST_CASE("a rank with another plan: an error on every rank, with ranks and digests") {
  CJob job(ToyPlan());
  Plan other = ToyPlan();
  other.header.totals.predicted_ns += 1;
  reshard_plan* changed = LoadCPlan(other);
  CJob::Rank& rank = job.ranks()[4];
  REQUIRE(reshard_executor_destroy(rank.executor) == RESHARD_OK);
  REQUIRE(reshard_executor_create(changed, 4, rank.backend, nullptr, &rank.executor) == RESHARD_OK);
  reshard_plan_info mine{}, theirs{};
  mine.struct_size = theirs.struct_size = sizeof(mine);
  REQUIRE(reshard_plan_get_info(job.plan(), &mine) == RESHARD_OK);
  REQUIRE(reshard_plan_get_info(changed, &theirs) == RESHARD_OK);
  for (const CJob::Outcome& outcome : job.Prepare()) {
    CHECK(outcome.result == RESHARD_ERROR_ABORTED);
    CHECK(outcome.error == "ranks hold different plans: ranks 0-3,5 " + std::string(mine.digest) +
                               ", rank 4 " + theirs.digest);
  }
  reshard_plan_free(changed);
}

TEST_CASE("a rank that fails: all others fail, the complete params are right, no mixed commit") {
  reshard_executor_options options = RESHARD_EXECUTOR_OPTIONS_INIT;
  options.wait_timeout_ns = 200'000'000;
  CJob job(ReplicatedPlan(), &options);
  CheckAll(job.Prepare());
  CheckAll(job.Execute(1));
  // Rank 5, a relay, does not come.
  const std::vector<CJob::Outcome> outcomes = job.OnAll([](CJob::Rank& rank) {
    if (rank.rank == 5) return RESHARD_OK;
    const reshard_result started = reshard_executor_start(rank.executor, nullptr, 2);
    return started == RESHARD_OK ? reshard_executor_wait(rank.executor, RESHARD_FOREVER) : started;
  });
  size_t failed = 0;
  for (const CJob::Rank& rank : job.ranks()) {
    const CJob::Outcome& outcome = outcomes[static_cast<size_t>(&rank - job.ranks().data())];
    if (outcome.result == RESHARD_OK) continue;
    ++failed;
    CHECK(Has(outcome.error, "rank 5"));
    reshard_executor_state state{};
    state.struct_size = sizeof(state);
    REQUIRE(reshard_executor_get_state(rank.executor, &state) == RESHARD_OK);
    CHECK(state.failed == 1);
    CHECK(state.started_generation == 2);
    CHECK(state.complete_generation == 1);
    size_t complete = 99;
    REQUIRE(reshard_executor_get_complete(rank.executor, nullptr, 0, &complete) == RESHARD_OK);
    CHECK(complete == state.complete_count);
    CHECK(reshard_executor_start(rank.executor, nullptr, 3) == outcome.result);
  }
  CHECK(failed >= 5);
  const std::vector<CJob::Outcome> commits = job.OnAll(
      [](CJob::Rank& rank) { return reshard_executor_commit(rank.executor, 0, nullptr); });
  for (const CJob::Outcome& commit : commits) {
    CHECK(commit.result == RESHARD_ERROR_ABORTED);
    CHECK(Has(commit.error, "the replica does not hold one generation: "));
  }
}

TEST_CASE("replicas commit on their own") {
  // Ranks 2 to 7 are three replicas of two; ranks 0 and 1 are the trainer.
  CJob job(ReplicatedPlan());
  for (CJob::Rank& rank : job.ranks()) {
    REQUIRE(reshard_executor_destroy(rank.executor) == RESHARD_OK);
    const std::vector<uint32_t> pair = {rank.rank / 2 * 2, rank.rank / 2 * 2 + 1};
    reshard_executor_options options = RESHARD_EXECUTOR_OPTIONS_INIT;
    options.replica = pair.data();
    options.replica_count = 2;
    REQUIRE(reshard_executor_create(job.plan(), rank.rank, rank.backend, &options,
                                    &rank.executor) == RESHARD_OK);
    for (CJob::Buffer& buffer : rank.buffers) {
      reshard_buffer bound = RESHARD_BUFFER_INIT;
      bound.name = buffer.info.name;
      bound.side = buffer.info.side;
      bound.data = buffer.data();
      bound.bytes = buffer.info.bytes;
      REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
    }
  }
  CheckAll(job.Prepare());
  CheckAll(job.Execute(4));
  // Ranks 6 and 7 never commit; nobody else waits for them.
  CheckAll(job.OnAll([](CJob::Rank& rank) {
    uint64_t generation = 4;
    if (rank.rank >= 6) return RESHARD_OK;
    const reshard_result result = reshard_executor_commit(rank.executor, 0, &generation);
    CHECK(generation == 4);
    return result;
  }));
  const std::vector<uint32_t> without = {6, 7};
  reshard_executor_options options = RESHARD_EXECUTOR_OPTIONS_INIT;
  options.replica = without.data();
  options.replica_count = 2;
  reshard_executor* none = nullptr;
  CHECK(reshard_executor_create(job.plan(), 2, job.ranks()[2].backend, &options, &none) ==
        RESHARD_ERROR_INVALID_ARGUMENT);
  // A list and its length come together.
  options.replica_count = 0;
  CHECK(reshard_executor_create(job.plan(), 2, job.ranks()[2].backend, &options, &none) ==
        RESHARD_ERROR_INVALID_ARGUMENT);
  options.replica = nullptr;
  options.replica_count = 3;
  CHECK(reshard_executor_create(job.plan(), 2, job.ranks()[2].backend, &options, &none) ==
        RESHARD_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("the log says what fails and what was prepared") {
  static std::vector<std::string> lines;
  lines.clear();
  REQUIRE(reshard_set_log(
              [](void* user, reshard_log_level level, const char* text) {
                static_cast<std::vector<std::string>*>(user)->push_back(
                    (level == RESHARD_LOG_ERROR ? "error: " : "info: ") + std::string(text));
              },
              &lines) == RESHARD_OK);
  CHECK(reshard_plan_free(nullptr) == RESHARD_ERROR_BAD_HANDLE);
  REQUIRE(reshard_set_log(nullptr, nullptr) == RESHARD_OK);
  CHECK(reshard_plan_free(nullptr) == RESHARD_ERROR_BAD_HANDLE);
  CHECK(lines == std::vector<std::string>{"error: the handle is of no plan that exists"});
  CHECK(std::string(reshard_result_name(RESHARD_ERROR_TIMEOUT)) == "timeout");
  CHECK(std::string(reshard_result_name(77)) == "unknown-result");
  CHECK(reshard_abi_version() == RESHARD_ABI_VERSION);
}

}  // namespace
}  // namespace reshard::testing
