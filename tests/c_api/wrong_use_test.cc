// Every call of reshard.h used wrongly in every way that it can tell: handles, NULL, the size of
// structs, calls while an execution runs, calls of a second thread. None of them changes anything.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "reshard/reshard.h"
#include "runtime/plan/testing/small_plan.h"
#include "tests/c_api/c_job.h"

namespace reshard::testing {
namespace {

// A call with one handle, everything else right.
template <class Handle>
struct Call {
  const char* name;
  std::function<reshard_result(Handle*)> call;
};

template <class Info>
Info* Sized() {
  static Info info;
  info = Info{};
  info.struct_size = sizeof(Info);
  return &info;
}

size_t count_out = 0;
uint64_t generation_out = 0;
reshard_executor* executor_out = nullptr;

reshard_buffer SomeBuffer() {
  static uint64_t words[64];
  reshard_buffer buffer = RESHARD_BUFFER_INIT;
  buffer.name = "w.rows";
  buffer.data = words;
  buffer.bytes = 128;
  return buffer;
}

std::vector<Call<reshard_plan>> PlanCalls(reshard_backend* backend) {
  return {
      {"get_info", [](auto* p) { return reshard_plan_get_info(p, Sized<reshard_plan_info>()); }},
      {"get_ranks", [](auto* p) { return reshard_plan_get_ranks(p, nullptr, 0, &count_out); }},
      {"get_rank_info",
       [](auto* p) { return reshard_plan_get_rank_info(p, 0, Sized<reshard_rank_info>()); }},
      {"get_param",
       [](auto* p) { return reshard_plan_get_param(p, 0, 0, Sized<reshard_param_info>()); }},
      {"executor_create",
       [backend](auto* p) {
         return reshard_executor_create(p, 0, backend, nullptr, &executor_out);
       }},
      {"free", [](auto* p) { return reshard_plan_free(p); }},
  };
}

// All but destroy and abort; `during`: what each returns while an execution runs.
struct ExecutorCall : Call<reshard_executor> {
  reshard_result during;
};

std::vector<ExecutorCall> ExecutorCalls() {
  const reshard_result order = RESHARD_ERROR_WRONG_ORDER;
  return {
      {{"bind",
        [](auto* e) {
          reshard_buffer buffer = SomeBuffer();
          buffer.side = RESHARD_DESTINATION;
          return reshard_executor_bind(e, &buffer);
        }},
       order},
      {{"unbind", [](auto* e) { return reshard_executor_unbind(e); }}, order},
      {{"prepare", [](auto* e) { return reshard_executor_prepare(e, 0); }}, order},
      {{"start", [](auto* e) { return reshard_executor_start(e, nullptr, 99); }}, order},
      {{"wait", [](auto* e) { return reshard_executor_wait(e, 0); }}, RESHARD_PENDING},
      {{"commit", [](auto* e) { return reshard_executor_commit(e, 0, &generation_out); }}, order},
      {{"get_state",
        [](auto* e) { return reshard_executor_get_state(e, Sized<reshard_executor_state>()); }},
       RESHARD_OK},
      {{"get_complete",
        [](auto* e) { return reshard_executor_get_complete(e, nullptr, 0, &count_out); }},
       order},
      {{"get_stats", [](auto* e) { return reshard_executor_get_stats(e, Sized<reshard_stats>()); }},
       order},
      {{"get_peer_waits",
        [](auto* e) { return reshard_executor_get_peer_waits(e, nullptr, 0, &count_out); }},
       order},
      {{"write_trace", [](auto* e) { return reshard_executor_write_trace(e, "/absent/trace"); }},
       order},
  };
}

int32_t NoGather(void*, const uint32_t*, size_t, const void*, size_t, void*, int64_t) {
  return RESHARD_ERROR_TIMEOUT;
}

void CheckResult(reshard_result found, reshard_result expected) {
  CHECK(std::string(reshard_result_name(found)) == reshard_result_name(expected));
}

TEST_CASE("every call refuses a handle that is null, freed, or of another kind") {
  CJob job(ToyPlan());
  reshard_backend* const backend = job.ranks()[0].backend;
  reshard_plan* const freed_plan = LoadCPlan(ToyPlan());
  REQUIRE(reshard_plan_free(freed_plan) == RESHARD_OK);
  for (const auto& call : PlanCalls(backend)) {
    CAPTURE(call.name);
    for (reshard_plan* handle : {static_cast<reshard_plan*>(nullptr), freed_plan,
                                 reinterpret_cast<reshard_plan*>(backend)}) {
      CheckResult(call.call(handle), RESHARD_ERROR_BAD_HANDLE);
    }
  }
  reshard_executor* freed = nullptr;
  REQUIRE(reshard_executor_create(job.plan(), 0, backend, nullptr, &freed) == RESHARD_OK);
  REQUIRE(reshard_executor_destroy(freed) == RESHARD_OK);
  std::vector<ExecutorCall> calls = ExecutorCalls();
  calls.push_back({{"abort", [](auto* e) { return reshard_executor_abort(e, nullptr); }}, {}});
  calls.push_back({{"destroy", [](auto* e) { return reshard_executor_destroy(e); }}, {}});
  for (const ExecutorCall& call : calls) {
    CAPTURE(call.name);
    for (reshard_executor* handle : {static_cast<reshard_executor*>(nullptr), freed,
                                     reinterpret_cast<reshard_executor*>(job.plan())}) {
      CheckResult(call.call(handle), RESHARD_ERROR_BAD_HANDLE);
    }
  }
  reshard_backend* freed_backend = nullptr;
  REQUIRE(reshard_backend_loopback_create(1, nullptr, &freed_backend) == RESHARD_OK);
  REQUIRE(reshard_backend_destroy(freed_backend) == RESHARD_OK);
  for (reshard_backend* handle : {static_cast<reshard_backend*>(nullptr), freed_backend,
                                  reinterpret_cast<reshard_backend*>(job.plan())}) {
    CheckResult(reshard_backend_destroy(handle), RESHARD_ERROR_BAD_HANDLE);
    CheckResult(reshard_executor_create(job.plan(), 0, handle, nullptr, &executor_out),
                RESHARD_ERROR_BAD_HANDLE);
  }
  CHECK(executor_out == nullptr);
}

TEST_CASE("every pointer that is needed") {
  CJob job(ToyPlan());
  reshard_plan* const plan = job.plan();
  reshard_executor* const executor = job.ranks()[0].executor;
  reshard_backend* const backend = job.ranks()[0].backend;
  reshard_buffer nameless = SomeBuffer();
  nameless.name = nullptr;
  reshard_tcp_options no_control = RESHARD_TCP_OPTIONS_INIT;
  reshard_plan* plan_out = nullptr;
  reshard_backend* backend_out = nullptr;
  uint8_t byte = 0;
  const std::vector<std::pair<const char*, std::function<reshard_result()>>> calls = {
      {"path", [&] { return reshard_plan_load(nullptr, nullptr, &plan_out); }},
      {"plan", [&] { return reshard_plan_load("/absent", nullptr, nullptr); }},
      {"data", [&] { return reshard_plan_load_memory(nullptr, 0, nullptr, &plan_out); }},
      {"plan", [&] { return reshard_plan_load_memory(&byte, 1, nullptr, nullptr); }},
      {"info", [&] { return reshard_plan_get_info(plan, nullptr); }},
      {"count", [&] { return reshard_plan_get_ranks(plan, nullptr, 0, nullptr); }},
      {"ranks", [&] { return reshard_plan_get_ranks(plan, nullptr, 1, &count_out); }},
      {"info", [&] { return reshard_plan_get_rank_info(plan, 0, nullptr); }},
      {"info", [&] { return reshard_plan_get_param(plan, 0, 0, nullptr); }},
      {"backends", [&] { return reshard_backend_loopback_create(1, nullptr, nullptr); }},
      {"options", [&] { return reshard_backend_tcp_create(nullptr, &backend_out); }},
      {"backend", [&] { return reshard_backend_tcp_create(&no_control, nullptr); }},
      {"options.control", [&] { return reshard_backend_tcp_create(&no_control, &backend_out); }},
      {"executor", [&] { return reshard_executor_create(plan, 0, backend, nullptr, nullptr); }},
      {"buffer", [&] { return reshard_executor_bind(executor, nullptr); }},
      {"the name of a buffer", [&] { return reshard_executor_bind(executor, &nameless); }},
      {"state", [&] { return reshard_executor_get_state(executor, nullptr); }},
      {"count", [&] { return reshard_executor_get_complete(executor, nullptr, 0, nullptr); }},
      {"indices", [&] { return reshard_executor_get_complete(executor, nullptr, 1, &count_out); }},
      {"stats", [&] { return reshard_executor_get_stats(executor, nullptr); }},
      {"count", [&] { return reshard_executor_get_peer_waits(executor, nullptr, 0, nullptr); }},
      {"waits", [&] { return reshard_executor_get_peer_waits(executor, nullptr, 1, &count_out); }},
      {"path", [&] { return reshard_executor_write_trace(executor, nullptr); }},
  };
  for (const auto& missing : calls) {
    CAPTURE(missing.first);
    CHECK(ErrorOf(missing.second(), RESHARD_ERROR_INVALID_ARGUMENT) ==
          std::string(missing.first) + " is NULL");
  }
  CHECK(plan_out == nullptr);
  CHECK(backend_out == nullptr);
}

// The struct with its size one less than the first version has, and with a size that no version
// has.
template <class Struct>
void CheckSizes(const char* name, Struct given,
                const std::function<reshard_result(Struct*)>& call) {
  CAPTURE(name);
  const std::string text = std::string(name) + " has a struct_size of ";
  given.struct_size = sizeof(Struct) - 1;
  CHECK(ErrorOf(call(&given), RESHARD_ERROR_INVALID_ARGUMENT).find(text) == 0);
  given.struct_size = 0;
  CHECK(ErrorOf(call(&given), RESHARD_ERROR_INVALID_ARGUMENT).find(text + "0, expected ") == 0);
}

TEST_CASE("every struct says which version it is of") {
  CJob job(ToyPlan());
  reshard_plan* const plan = job.plan();
  reshard_executor* const executor = job.ranks()[0].executor;
  reshard_backend* const backend = job.ranks()[0].backend;
  const uint8_t byte = 0;
  reshard_plan* plan_out = nullptr;
  CheckSizes<reshard_plan_options>("reshard_plan_options", {}, [&](auto* options) {
    return reshard_plan_load_memory(&byte, 1, options, &plan_out);
  });
  CheckSizes<reshard_plan_info>("reshard_plan_info", {},
                                [&](auto* info) { return reshard_plan_get_info(plan, info); });
  CheckSizes<reshard_rank_info>("reshard_rank_info", {}, [&](auto* info) {
    return reshard_plan_get_rank_info(plan, 0, info);
  });
  CheckSizes<reshard_param_info>("reshard_param_info", {}, [&](auto* info) {
    return reshard_plan_get_param(plan, 0, 0, info);
  });
  reshard_backend* backend_out = nullptr;
  CheckSizes<reshard_loopback_options>("reshard_loopback_options", {}, [&](auto* options) {
    return reshard_backend_loopback_create(1, options, &backend_out);
  });
  reshard_control control = RESHARD_CONTROL_INIT;
  control.all_gather = NoGather;
  control.member_count = 1;
  reshard_tcp_options tcp = RESHARD_TCP_OPTIONS_INIT;
  tcp.control = &control;
  CheckSizes<reshard_tcp_options>("reshard_tcp_options", tcp, [&](auto* options) {
    return reshard_backend_tcp_create(options, &backend_out);
  });
  CheckSizes<reshard_control>("reshard_control", control, [&](auto* wrong) {
    tcp.control = wrong;
    return reshard_backend_tcp_create(&tcp, &backend_out);
  });
  reshard_executor* made = nullptr;
  CheckSizes<reshard_executor_options>("reshard_executor_options", {}, [&](auto* options) {
    return reshard_executor_create(plan, 0, backend, options, &made);
  });
  CheckSizes<reshard_buffer>("reshard_buffer", SomeBuffer(),
                             [&](auto* buffer) { return reshard_executor_bind(executor, buffer); });
  CheckSizes<reshard_executor_state>("reshard_executor_state", {}, [&](auto* state) {
    return reshard_executor_get_state(executor, state);
  });
  CheckSizes<reshard_stats>("reshard_stats", {}, [&](auto* stats) {
    return reshard_executor_get_stats(executor, stats);
  });
  CHECK(plan_out == nullptr);
  CHECK(backend_out == nullptr);
  CHECK(made == nullptr);
}

TEST_CASE("options and times that mean nothing") {
  CJob job(ToyPlan());
  reshard_executor* const executor = job.ranks()[0].executor;
  const auto refused = [](reshard_result result, const std::string& text) {
    const std::string error = ErrorOf(result, RESHARD_ERROR_INVALID_ARGUMENT);
    INFO(error);
    CHECK(error.find(text) != std::string::npos);
  };
  refused(reshard_executor_prepare(executor, -1), "-1");
  reshard_executor_options options = RESHARD_EXECUTOR_OPTIONS_INIT;
  options.wait_timeout_ns = -5;
  refused(reshard_executor_create(job.plan(), 0, job.ranks()[0].backend, &options, &executor_out),
          "-5");
  CHECK(ErrorOf(
            reshard_executor_create(job.plan(), 99, job.ranks()[0].backend, nullptr, &executor_out),
            RESHARD_ERROR_NOT_FOUND) == "the plan has no rank 99");
  reshard_buffer buffer = SomeBuffer();
  buffer.side = static_cast<reshard_side>(7);
  refused(reshard_executor_bind(executor, &buffer), "'w.rows' has side 7, which is no side");
  buffer = SomeBuffer();
  buffer.dim_count = -2;
  refused(reshard_executor_bind(executor, &buffer), "'w.rows' has a dim_count of -2");

  reshard_control control = RESHARD_CONTROL_INIT;
  reshard_tcp_options tcp = RESHARD_TCP_OPTIONS_INIT;
  tcp.control = &control;
  reshard_backend* backend = nullptr;
  refused(reshard_backend_tcp_create(&tcp, &backend), "a control channel needs a function");
  control.all_gather = NoGather;
  refused(reshard_backend_tcp_create(&tcp, &backend), "member below member_count");
  control.member_count = 2;
  tcp.port = 65536;
  refused(reshard_backend_tcp_create(&tcp, &backend), "port 65536, expected 0 to 65535");
  tcp.port = 0;
  tcp.timeout_ns = -1;
  refused(reshard_backend_tcp_create(&tcp, &backend), "-1");
  tcp.timeout_ns = 0;
  tcp.address = "localhost";
  refused(reshard_backend_tcp_create(&tcp, &backend),
          "'localhost' is no numeric address of IPv4 or IPv6");
  tcp.address = nullptr;
  CHECK(ErrorOf(reshard_backend_tcp_create(&tcp, &backend), RESHARD_ERROR_TIMEOUT) ==
        "the caller's control channel: timeout");
  CHECK(backend == nullptr);
}

TEST_CASE("while an execution runs, and while another thread is inside a call") {
  CJob job(ToyPlan());
  for (const CJob::Outcome& outcome : job.Prepare()) REQUIRE(outcome.result == RESHARD_OK);
  // Rank 2 waits for its sources, which have not begun.
  reshard_executor* const executor = job.ranks()[2].executor;
  REQUIRE(reshard_executor_start(executor, nullptr, 1) == RESHARD_OK);
  for (const ExecutorCall& call : ExecutorCalls()) {
    CAPTURE(call.name);
    CheckResult(call.call(executor), call.during);
  }
  std::atomic<bool> over{false};
  reshard_result waited = RESHARD_ERROR_INTERNAL;
  std::thread other([&] {
    // This thread may be the second one itself, while the other asks for the state.
    do {
      waited = reshard_executor_wait(executor, RESHARD_FOREVER);
    } while (waited == RESHARD_ERROR_BUSY);
    over = true;
  });
  // From the moment on when the other thread is inside, every call is refused, until the end.
  while (reshard_executor_get_state(executor, Sized<reshard_executor_state>()) !=
         RESHARD_ERROR_BUSY) {
    std::this_thread::yield();
  }
  for (const ExecutorCall& call : ExecutorCalls()) {
    CAPTURE(call.name);
    CheckResult(call.call(executor), RESHARD_ERROR_BUSY);
  }
  CheckResult(reshard_executor_destroy(executor), RESHARD_ERROR_BUSY);
  CHECK_FALSE(over);
  for (CJob::Rank& rank : job.ranks()) {
    if (rank.rank != 2) REQUIRE(reshard_executor_start(rank.executor, nullptr, 1) == RESHARD_OK);
  }
  other.join();
  CheckResult(waited, RESHARD_OK);
  for (CJob::Rank& rank : job.ranks()) {
    if (rank.rank != 2) CHECK(reshard_executor_wait(rank.executor, RESHARD_FOREVER) == RESHARD_OK);
  }
  CheckResult(reshard_executor_wait(executor, 0), RESHARD_ERROR_WRONG_ORDER);
}

TEST_CASE("after a failure: everything that would execute says which it was") {
  CJob job(ToyPlan());
  for (const CJob::Outcome& outcome : job.Prepare()) REQUIRE(outcome.result == RESHARD_OK);
  reshard_executor* const executor = job.ranks()[2].executor;
  REQUIRE(reshard_executor_start(executor, nullptr, 1) == RESHARD_OK);
  REQUIRE(reshard_executor_abort(executor, "the end") == RESHARD_OK);
  CheckResult(reshard_executor_wait(executor, RESHARD_FOREVER), RESHARD_ERROR_ABORTED);
  for (const reshard_result result :
       {reshard_executor_start(executor, nullptr, 2), reshard_executor_prepare(executor, 0)}) {
    CHECK(ErrorOf(result, RESHARD_ERROR_ABORTED).find("the end") != std::string::npos);
  }
  CheckResult(reshard_executor_wait(executor, 0), RESHARD_ERROR_WRONG_ORDER);
  reshard_executor_state state{};
  state.struct_size = sizeof(state);
  REQUIRE(reshard_executor_get_state(executor, &state) == RESHARD_OK);
  CHECK(state.failed == 1);
  CHECK(state.complete_generation == 0);
}

TEST_CASE("a backend that serves an executor is refused to a second one, until that is gone") {
  CJob job(ToyPlan());
  for (const CJob::Outcome& outcome : job.Prepare()) REQUIRE(outcome.result == RESHARD_OK);
  CJob::Rank& rank = job.ranks()[2];
  reshard_executor* second = nullptr;
  REQUIRE(reshard_executor_create(job.plan(), 2, rank.backend, nullptr, &second) == RESHARD_OK);
  CHECK(ErrorOf(reshard_executor_prepare(second, 0), RESHARD_ERROR_WRONG_ORDER) ==
        "the backend serves another executor: destroy that one first");
  CHECK(reshard_executor_destroy(second) == RESHARD_OK);
  for (const CJob::Outcome& outcome : job.Execute(1)) CHECK(outcome.result == RESHARD_OK);
}

}  // namespace
}  // namespace reshard::testing
