#include "runtime/exec/messages/message_backend.h"

#include <chrono>
#include <memory>
#include <thread>

#include "doctest/doctest.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/tcp/testing/local_members.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

using std::chrono::seconds;

std::unique_ptr<Executor> ExecutorOf(const std::shared_ptr<Backend>& backend) {
  const auto shared = std::make_shared<SharedPlan>();
  shared->plan = std::make_shared<Plan>(testing::ToyPlan());
  shared->index = BuildProgramIndex(*shared->plan);
  return *Executor::Create(shared, 0, backend, {});
}

TEST_CASE("a port of the caller's thread: other threads are refused before they touch it") {
  MessageBackendSpec spec;
  spec.name = "test";
  spec.port = std::move(testing::LocalTcpPorts(1).front());
  spec.needs_callers_thread = true;
  const StatusOr<std::shared_ptr<Backend>> backend =
      MakeMessageBackend(std::move(spec), DeadlineIn(seconds(60)));
  REQUIRE(backend.ok());
  const std::unique_ptr<Executor> executor = ExecutorOf(*backend);
  Status refused;
  std::thread([&] { refused = executor->Prepare(seconds(60)); }).join();
  CHECK(refused ==
        Status(StatusCode::kWrongOrder,
               "only the thread that made the backend may use it: test was not set up for several "
               "threads"));
  // On the right one it gets as far as the missing params.
  CHECK(executor->Prepare(seconds(60)).code() != StatusCode::kWrongOrder);
}

TEST_CASE("a backend serves one executor at a time") {
  MessageBackendSpec spec;
  spec.name = "test";
  spec.port = std::move(testing::LocalTcpPorts(1).front());
  const StatusOr<std::shared_ptr<Backend>> backend =
      MakeMessageBackend(std::move(spec), DeadlineIn(seconds(60)));
  REQUIRE(backend.ok());
  std::unique_ptr<Executor> first = ExecutorOf(*backend);
  const std::unique_ptr<Executor> second = ExecutorOf(*backend);
  CHECK(first->Prepare(seconds(60)).code() != StatusCode::kWrongOrder);
  CHECK(second->Prepare(seconds(60)) ==
        Status(StatusCode::kWrongOrder,
               "the backend serves another executor: destroy that one first"));
  first.reset();
  CHECK(second->Prepare(seconds(60)).code() != StatusCode::kWrongOrder);
}

}  // namespace
}  // namespace reshard
