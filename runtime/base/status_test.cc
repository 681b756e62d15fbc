#include "runtime/base/status.h"

#include <memory>
#include <string>
#include <utility>

#include "doctest/doctest.h"

namespace reshard {
namespace {

StatusOr<int> Half(int number) {
  if (number % 2 != 0) return Status(StatusCode::kInvalidArgument, "odd number");
  return number / 2;
}

Status RequireEven(int number) {
  RESHARD_RETURN_IF_ERROR(Half(number).status());
  return Status();
}

TEST_CASE("a status prints its message and its code") {
  CHECK(Status().ok());
  CHECK(Status().ToString() == "ok");
  const Status failure(StatusCode::kIoError, "cannot read 'plan.fb'");
  CHECK(!failure.ok());
  CHECK(failure.code() == StatusCode::kIoError);
  CHECK(failure.ToString() == "cannot read 'plan.fb' [io-error]");
  CHECK(failure != Status());
}

TEST_CASE("a result is a value or the reason why there is none") {
  const StatusOr<int> good = Half(8);
  REQUIRE(good.ok());
  CHECK(*good == 4);
  CHECK(good.status().ok());
  const StatusOr<int> bad = Half(7);
  CHECK(!bad.ok());
  CHECK(bad.status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("the macro hands a failure on") {
  CHECK(RequireEven(2).ok());
  CHECK(RequireEven(3).message() == "odd number");
}

TEST_CASE("a value that only moves moves out") {
  StatusOr<std::unique_ptr<std::string>> text = std::make_unique<std::string>("x");
  REQUIRE(text.ok());
  CHECK((*text)->size() == 1);
  const std::unique_ptr<std::string> taken = std::move(text).value();
  CHECK(*taken == "x");
}

}  // namespace
}  // namespace reshard
