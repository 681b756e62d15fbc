// A backend that only the thread that made it may use, as MPI below MPI_THREAD_MULTIPLE.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "reshard/reshard.h"
#include "runtime/c_api/api_support.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/engine.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "runtime/plan/testing/small_plan.h"
#include "tests/c_api/c_job.h"

namespace reshard::testing {
namespace {

class OneThreadBackend final : public Backend {
 public:
  explicit OneThreadBackend(std::shared_ptr<Backend> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return "one thread"; }
  bool needs_callers_thread() const override { return true; }
  Status CheckThread() const override {
    if (std::this_thread::get_id() == maker_) return Status();
    return Status(StatusCode::kWrongOrder, "another thread");
  }
  ControlChannel* control() override { return inner_->control(); }
  StatusOr<std::unique_ptr<ExecutionEngine>> CreateEngine(const EngineSpec& spec,
                                                          Deadline deadline) override {
    return inner_->CreateEngine(spec, deadline);
  }

 private:
  const std::shared_ptr<Backend> inner_;
  const std::thread::id maker_ = std::this_thread::get_id();
};

reshard_result OnAnotherThread(const std::function<reshard_result()>& call) {
  reshard_result result = RESHARD_ERROR_INTERNAL;
  std::thread([&] { result = call(); }).join();
  return result;
}

TEST_CASE("a foreign thread may not destroy what it may not use; the right one still can") {
  const LoopbackGroup group(6);
  std::vector<reshard_backend*> backends(6);
  for (size_t r = 0; r < 6; ++r) {
    const auto backend = std::make_shared<OneThreadBackend>(group.backends()[r]);
    REQUIRE(c_api::AddBackend(backend, &backends[r]) == RESHARD_OK);
  }
  const CJob job(ToyPlan(), nullptr, backends);
  reshard_executor* executor = nullptr;
  REQUIRE(reshard_executor_create(job.plan(), 0, backends[0], nullptr, &executor) == RESHARD_OK);
  CHECK(OnAnotherThread([&] { return reshard_executor_destroy(executor); }) ==
        RESHARD_ERROR_WRONG_ORDER);
  CHECK(reshard_executor_destroy(executor) == RESHARD_OK);
  reshard_backend* backend = nullptr;
  REQUIRE(c_api::AddBackend(std::make_shared<OneThreadBackend>(group.backends()[0]), &backend) ==
          RESHARD_OK);
  CHECK(OnAnotherThread([&] { return reshard_backend_destroy(backend); }) ==
        RESHARD_ERROR_WRONG_ORDER);
  CHECK(reshard_backend_destroy(backend) == RESHARD_OK);
  CHECK(reshard_backend_destroy(backend) == RESHARD_ERROR_BAD_HANDLE);
}

}  // namespace
}  // namespace reshard::testing
