#include "compiler/cli/progress.h"

#include <sstream>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("a stage is named once the command has taken a second") {
  std::chrono::steady_clock::time_point now{};
  std::ostringstream err;
  Progress progress(err, [&now] { return now; });
  progress.Enter("spec");
  now += std::chrono::milliseconds(999);
  progress.Enter("layout");
  CHECK(err.str().empty());
  now += std::chrono::milliseconds(1);
  progress.Enter("routing");
  CHECK(err.str() == "reshardc: routing (after 1 s)\n");
  now += std::chrono::seconds(4);
  progress.Enter("schedule");
  CHECK(err.str() == "reshardc: routing (after 1 s)\nreshardc: schedule (after 5 s)\n");
}

}  // namespace
}  // namespace reshard
