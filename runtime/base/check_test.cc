#include "runtime/base/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "doctest/doctest.h"

namespace {

struct Ending {
  int exit_code = -1;
  std::string error_text;
};

// Runs `body` in a child process and returns how it ended.
template <class Body>
Ending RunInChild(Body body) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    body();
    std::_Exit(0);
  }
  close(pipe_ends[1]);
  Ending ending;
  std::array<char, 256> buffer{};
  for (;;) {
    const ssize_t count = read(pipe_ends[0], buffer.data(), buffer.size());
    if (count <= 0) break;
    ending.error_text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(pipe_ends[0]);
  int wait_status = 0;
  REQUIRE(waitpid(child, &wait_status, 0) == child);
  if (WIFEXITED(wait_status)) ending.exit_code = WEXITSTATUS(wait_status);
  return ending;
}

TEST_CASE("a failed check names the place and the reason and exits with 3") {
  const Ending ending = RunInChild(
      [] { RESHARD_CHECK(1 + 1 == 3, std::string("sum of ") + std::to_string(2) + " terms"); });
  CHECK(ending.exit_code == reshard::kBugExitCode);
  CHECK(ending.error_text.find("check_test.cc:") != std::string::npos);
  CHECK(ending.error_text.find("internal error: sum of 2 terms [1 + 1 == 3]") != std::string::npos);
}

TEST_CASE("a check that holds does nothing, not even build its message") {
  int built = 0;
  const auto message = [&built] {
    ++built;
    return std::string("never");
  };
  RESHARD_CHECK(true, message());
  CHECK(built == 0);
}

}  // namespace
