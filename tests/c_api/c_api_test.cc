// The C interface from loading a plan to committing a generation.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "compiler/emit/serialize_plan.h"
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

// Element (row, column) of the toy's 8 x 8 matrix in an execution.
uint32_t ToyElement(uint64_t generation, size_t row, size_t column) {
  return static_cast<uint32_t>(generation * 100000 + row * 100 + column);
}

void FillToy(CJob* job, uint64_t generation) {
  for (size_t r = 0; r < 2; ++r) {
    std::vector<uint32_t> rows;
    for (size_t i = 0; i < 32; ++i) rows.push_back(ToyElement(generation, r * 4 + i / 8, i % 8));
    std::memcpy(job->buffer(r, "w.rows", RESHARD_SOURCE).data(), rows.data(), 128);
  }
}

bool ToyArrived(CJob* job, uint64_t generation) {
  for (size_t r = 2; r < 6; ++r) {
    std::vector<uint32_t> columns;
    for (size_t i = 0; i < 16; ++i) {
      columns.push_back(ToyElement(generation, i / 2, (r - 2) * 2 + i % 2));
    }
    if (std::memcmp(job->buffer(r, "w.columns", RESHARD_DESTINATION).data(), columns.data(), 64) !=
        0) {
      return false;
    }
  }
  return true;
}

TEST_CASE("a plan says what it is") {
  reshard_plan* plan = LoadCPlan(ToyPlan());
  reshard_plan_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(reshard_plan_get_info(plan, &info) == RESHARD_OK);
  CHECK(std::strlen(info.digest) == 64);
  CHECK(info.rank_count == 6);
  CHECK(info.round_count == 2);
  CHECK(info.message_count == 8);
  CHECK(info.source_bytes == 256);
  CHECK(info.network_bytes == 256);
  CHECK(info.predicted_ns >= info.bound_ns);

  std::vector<uint32_t> ranks(4, 99);
  size_t count = 0;
  REQUIRE(reshard_plan_get_ranks(plan, ranks.data(), 3, &count) == RESHARD_OK);
  CHECK(count == 6);
  CHECK(ranks == std::vector<uint32_t>{0, 1, 2, 99});

  reshard_rank_info rank{};
  rank.struct_size = sizeof(rank);
  REQUIRE(reshard_plan_get_rank_info(plan, 3, &rank) == RESHARD_OK);
  CHECK(rank.param_count == 1);
  CHECK(rank.staging_bytes == 768);

  reshard_param_info param{};
  param.struct_size = sizeof(param);
  REQUIRE(reshard_plan_get_param(plan, 3, 0, &param) == RESHARD_OK);
  CHECK(std::string(param.name) == "w.columns");
  CHECK(std::string(param.dtype) == "f32");
  CHECK(param.side == RESHARD_DESTINATION);
  CHECK(param.bytes == 64);
  CHECK(param.element_bytes == 4);
  REQUIRE(param.dim_count == 2);
  CHECK(std::vector<int64_t>(param.shape, param.shape + 2) == std::vector<int64_t>{8, 2});
  CHECK(std::vector<int64_t>(param.strides, param.strides + 2) == std::vector<int64_t>{2, 1});
  CHECK(param.share_count == 0);
  CHECK(ErrorOf(reshard_plan_get_param(plan, 3, 1, &param), RESHARD_ERROR_NOT_FOUND) ==
        "rank 3 has 1 params, no param 1");
  CHECK(ErrorOf(reshard_plan_get_param(plan, 9, 0, &param), RESHARD_ERROR_NOT_FOUND) ==
        "the plan has no rank 9");
  CHECK(reshard_plan_free(plan) == RESHARD_OK);
}

TEST_CASE("shares and external params are told") {
  reshard_plan* plan = LoadCPlan(ExpertPlan());
  reshard_rank_info rank{};
  rank.struct_size = sizeof(rank);
  REQUIRE(reshard_plan_get_rank_info(plan, 2, &rank) == RESHARD_OK);
  size_t external = 0;
  std::vector<std::string> shares;
  for (size_t p = 0; p < rank.param_count; ++p) {
    reshard_param_info param{};
    param.struct_size = sizeof(param);
    REQUIRE(reshard_plan_get_param(plan, 2, p, &param) == RESHARD_OK);
    external += param.external == 1;
    for (size_t s = 0; s < param.share_count; ++s) shares.emplace_back(param.shares[s]);
  }
  CHECK(external == 1);
  CHECK(shares == std::vector<std::string>{"tied.1.w", "tied.2.w"});
  reshard_plan_free(plan);
}

TEST_CASE("the digest that was reviewed is demanded") {
  reshard_plan* plan = LoadCPlan(ToyPlan());
  reshard_plan_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(reshard_plan_get_info(plan, &info) == RESHARD_OK);
  reshard_plan_free(plan);

  reshard_plan_options options = RESHARD_PLAN_OPTIONS_INIT;
  options.expected_digest = info.digest;
  options.verify_all = 1;
  reshard_plan_free(LoadCPlan(ToyPlan(), &options));

  reshard_plan* untouched = nullptr;
  std::string other(64, 'A');
  options.expected_digest = other.c_str();
  const StatusOr<std::vector<uint8_t>> bytes = SerializePlan(ToyPlan());
  REQUIRE(bytes.ok());
  const auto load = [&] {
    return reshard_plan_load_memory((*bytes).data(), (*bytes).size(), &options, &untouched);
  };
  CHECK(ErrorOf(load(), RESHARD_ERROR_CORRUPT_DATA) ==
        "the plan has digest " + std::string(info.digest) + ", expected " + std::string(64, 'a'));
  other.pop_back();
  CHECK(ErrorOf(load(), RESHARD_ERROR_INVALID_ARGUMENT) ==
        "expected_digest is not 64 hexadecimal digits: '" + std::string(63, 'a') + "'");
  options.expected_digest = nullptr;
  options.max_file_bytes = 100;
  CHECK(load() == RESHARD_ERROR_LIMIT_EXCEEDED);
  options.max_file_bytes = 0;

  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/absent.fb";
  CHECK(reshard_plan_load(path.c_str(), &options, &untouched) == RESHARD_ERROR_NOT_FOUND);
  // A name like any other: standard input is the program's.
  CHECK(reshard_plan_load("-", nullptr, &untouched) == RESHARD_ERROR_NOT_FOUND);
  const char text[] = "not a plan";
  CHECK(ErrorOf(reshard_plan_load_memory(text, sizeof(text), nullptr, &untouched),
                RESHARD_ERROR_CORRUPT_DATA)
            .find("not a plan file") == 0);
  CHECK(untouched == nullptr);
}

TEST_CASE("every small plan executes again and again; what it moved is counted") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    CJob job(named.plan);
    CheckAll(job.Prepare());
    for (uint64_t generation = 1; generation <= 3; ++generation) {
      CheckAll(job.Execute(generation));
      std::vector<uint64_t> committed(job.ranks().size());
      CheckAll(job.OnAll([&](CJob::Rank& rank) {
        return reshard_executor_commit(rank.executor, 0,
                                       &committed[static_cast<size_t>(&rank - job.ranks().data())]);
      }));
      CHECK(committed == std::vector<uint64_t>(committed.size(), generation));
    }
    int64_t sent = 0, received = 0, read = 0, local = 0;
    for (CJob::Rank& rank : job.ranks()) {
      reshard_stats stats{};
      stats.struct_size = sizeof(stats);
      REQUIRE(reshard_executor_get_stats(rank.executor, &stats) == RESHARD_OK);
      sent += stats.sent_bytes;
      received += stats.received_bytes;
      read += stats.read_bytes;
      local += stats.local_bytes;
      // What a rank hands to another one of its domain for passing on is read, but not delivered.
      if (named.name != "carried") {
        CHECK(stats.delivered_bytes == stats.read_bytes + stats.local_bytes);
      }
      CHECK(stats.elapsed_ns > 0);
      CHECK(stats.pack_ns + stats.copy_ns + stats.start_ns <= stats.elapsed_ns);
      reshard_executor_state state{};
      state.struct_size = sizeof(state);
      REQUIRE(reshard_executor_get_state(rank.executor, &state) == RESHARD_OK);
      CHECK(state.complete_generation == 3);
      CHECK(state.complete_count == state.destination_count);
      CHECK(state.failed == 0);
    }
    const PlanTotals& totals = named.plan.header.totals;
    CHECK(sent == totals.network_bytes);
    CHECK(received == totals.network_bytes);
    CHECK(read == totals.scaleup_bytes);
    CHECK(local == totals.local_bytes);
  }
}

TEST_CASE("toy: the bytes are right in each generation") {
  CJob job(ToyPlan());
  CheckAll(job.Prepare());
  for (uint64_t generation = 1; generation <= 5; generation += 2) {
    FillToy(&job, generation);
    CheckAll(job.Execute(generation));
    CHECK(ToyArrived(&job, generation));
  }
}

TEST_CASE("options of an executor: a trace, a content check") {
  reshard_executor_options options = RESHARD_EXECUTOR_OPTIONS_INIT;
  options.trace = 1;
  options.verify_executions = 1;
  CJob job(ReplicatedPlan(), &options);
  CheckAll(job.Prepare());
  CheckAll(job.Execute(1));
  CheckAll(job.Execute(2));
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/trace.json";
  // Rank 5 lands four slices of 1024 bytes.
  REQUIRE(reshard_executor_write_trace(job.ranks()[5].executor, path.c_str()) == RESHARD_OK);
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t messages = 0;
  for (size_t at = text.find("\"message\""); at != std::string::npos;
       at = text.find("\"message\"", at + 1)) {
    ++messages;
  }
  CHECK(messages == 4);
  CHECK(text.find("\"name\": \"round 1: 2 to 5\", \"args\": {\"round\": 1, \"src\": 2, "
                  "\"dst\": 5, \"bytes\": 1024}") != std::string::npos);
  CHECK(ErrorOf(reshard_executor_write_trace(job.ranks()[5].executor, "/absent/trace.json"),
                RESHARD_ERROR_IO)
            .find("cannot write '/absent/trace.json'") == 0);
}

TEST_CASE("params may be bound anew between executions") {
  CJob job(ToyPlan());
  CheckAll(job.Prepare());
  FillToy(&job, 1);
  CheckAll(job.Execute(1));
  for (CJob::Rank& rank : job.ranks()) {
    REQUIRE(reshard_executor_unbind(rank.executor) == RESHARD_OK);
    CHECK(reshard_executor_start(rank.executor, nullptr, 2) == RESHARD_ERROR_WRONG_ORDER);
    CJob::Buffer& buffer = rank.buffers[0];
    buffer.block.assign(buffer.block.size() + 4, 0);
    reshard_buffer bound = RESHARD_BUFFER_INIT;
    bound.name = buffer.info.name;
    bound.side = buffer.info.side;
    bound.data = buffer.data();
    bound.bytes = buffer.info.bytes;
    REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  }
  CheckAll(job.Prepare());
  FillToy(&job, 2);
  CheckAll(job.Execute(2));
  CHECK(ToyArrived(&job, 2));
}

TEST_CASE("one thread may start all ranks and then wait for all; wait can be a question") {
  CJob job(ToyPlan());
  CheckAll(job.Prepare());
  FillToy(&job, 1);
  for (CJob::Rank& rank : job.ranks()) {
    if (rank.rank == 0) continue;
    REQUIRE(reshard_executor_start(rank.executor, nullptr, 1) == RESHARD_OK);
  }
  // Without its source no rank of the other side can end.
  CHECK(reshard_executor_wait(job.ranks()[2].executor, 1000) == RESHARD_PENDING);
  reshard_executor_state state{};
  state.struct_size = sizeof(state);
  REQUIRE(reshard_executor_get_state(job.ranks()[2].executor, &state) == RESHARD_OK);
  CHECK(state.running == 1);
  reshard_stats stats{};
  stats.struct_size = sizeof(stats);
  CHECK(reshard_executor_get_stats(job.ranks()[2].executor, &stats) == RESHARD_ERROR_WRONG_ORDER);
  REQUIRE(reshard_executor_start(job.ranks()[0].executor, nullptr, 1) == RESHARD_OK);
  for (CJob::Rank& rank : job.ranks()) {
    CHECK(reshard_executor_wait(rank.executor, RESHARD_FOREVER) == RESHARD_OK);
  }
  CHECK(ToyArrived(&job, 1));
}

TEST_CASE("plan and backends may be freed before the executors") {
  CJob job(ToyPlan());
  reshard_plan* extra = LoadCPlan(ToyPlan());
  std::vector<reshard_backend*> backends(6);
  REQUIRE(reshard_backend_loopback_create(6, nullptr, backends.data()) == RESHARD_OK);
  for (size_t r = 0; r < 6; ++r) {
    CJob::Rank& rank = job.ranks()[r];
    REQUIRE(reshard_executor_destroy(rank.executor) == RESHARD_OK);
    REQUIRE(reshard_executor_create(extra, rank.rank, backends[r], nullptr, &rank.executor) ==
            RESHARD_OK);
    reshard_buffer bound = RESHARD_BUFFER_INIT;
    bound.name = rank.buffers[0].info.name;
    bound.side = rank.buffers[0].info.side;
    bound.data = rank.buffers[0].data();
    bound.bytes = rank.buffers[0].info.bytes;
    REQUIRE(reshard_executor_bind(rank.executor, &bound) == RESHARD_OK);
  }
  REQUIRE(reshard_plan_free(extra) == RESHARD_OK);
  for (reshard_backend* backend : backends) REQUIRE(reshard_backend_destroy(backend) == RESHARD_OK);
  CheckAll(job.Prepare());
  FillToy(&job, 1);
  CheckAll(job.Execute(1));
  CHECK(ToyArrived(&job, 1));
}

TEST_CASE("waits and the slowest peer are told") {
  CJob job(ToyPlan());
  CheckAll(job.Prepare());
  for (CJob::Rank& rank : job.ranks()) {
    if (rank.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(0));
    if (rank.rank != 1) REQUIRE(reshard_executor_start(rank.executor, nullptr, 1) == RESHARD_OK);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  REQUIRE(reshard_executor_start(job.ranks()[1].executor, nullptr, 1) == RESHARD_OK);
  for (CJob::Rank& rank : job.ranks()) {
    REQUIRE(reshard_executor_wait(rank.executor, RESHARD_FOREVER) == RESHARD_OK);
  }
  reshard_stats stats{};
  stats.struct_size = sizeof(stats);
  REQUIRE(reshard_executor_get_stats(job.ranks()[3].executor, &stats) == RESHARD_OK);
  CHECK(stats.slowest_peer == 1);
  CHECK(stats.slowest_wait_ns > 10'000'000);
  CHECK(stats.network_wait_ns >= stats.slowest_wait_ns);
  std::vector<reshard_peer_wait> waits(8);
  size_t count = 0;
  REQUIRE(reshard_executor_get_peer_waits(job.ranks()[3].executor, waits.data(), 8, &count) ==
          RESHARD_OK);
  // Rank 3 receives from both sources; its domain's other ranks may read from it.
  REQUIRE(count >= 2);
  CHECK(count == stats.peer_count);
  CHECK(waits[0].peer == 0);
  CHECK(waits[1].peer == 1);
  CHECK(waits[1].wait_ns == stats.slowest_wait_ns);
}

}  // namespace
}  // namespace reshard::testing
