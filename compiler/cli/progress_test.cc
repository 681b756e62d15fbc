#include "compiler/cli/progress.h"

#include <sstream>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("a stage is named once the command has taken a second") {
  ProgressLines::Time now{};
  std::ostringstream err;
  ProgressLines lines(err, now);
  lines.Enter("spec", now);
  now += std::chrono::milliseconds(999);
  lines.Tick(now);
  lines.Enter("layout", now);
  CHECK(err.str().empty());
  now += std::chrono::milliseconds(1);
  lines.Enter("routing", now);
  CHECK(err.str() == "reshardc: routing (after 1 s)\n");
  now += std::chrono::seconds(4);
  lines.Enter("schedule", now);
  CHECK(err.str() == "reshardc: routing (after 1 s)\nreshardc: schedule (after 5 s)\n");
}

TEST_CASE("a stage that goes on is named after the first second and every ten") {
  ProgressLines::Time now{};
  std::ostringstream err;
  ProgressLines lines(err, now);
  lines.Tick(now + std::chrono::seconds(5));  // nothing has begun
  CHECK(err.str().empty());
  lines.Enter("schedule", now);
  for (int ms = 0; ms < 21'100; ms += 250) lines.Tick(now + std::chrono::milliseconds(ms));
  CHECK(err.str() ==
        "reshardc: schedule (after 1 s)\nreshardc: schedule (after 11 s)\n"
        "reshardc: schedule (after 21 s)\n");
}

TEST_CASE("the watcher ends with the stage") {
  std::ostringstream err;
  Progress progress(err);
  progress.Leave();
  for (int i = 0; i < 3; ++i) {
    progress.Enter("stage");
    progress.Leave();
  }
  Progress silent(err, true);
  silent.Enter("stage");
  CHECK(err.str().empty());
}

}  // namespace
}  // namespace reshard
