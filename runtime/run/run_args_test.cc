#include "runtime/run/run_args.h"

#include <sstream>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Parsed {
  explicit Parsed(const std::vector<std::string>& arguments) {
    std::ostringstream out_stream, err_stream;
    args = ParseRunArgs(arguments, out_stream, err_stream, &exit_code);
    out = out_stream.str();
    err = err_stream.str();
  }
  RunExit exit_code = RunExit::kOurBug;
  std::optional<RunArgs> args;
  std::string out, err;
};

TEST_CASE("defaults and all options") {
  const Parsed plain({"plan.fb"});
  REQUIRE(plain.args);
  CHECK(plain.args->plan == "plan.fb");
  CHECK_FALSE(plain.args->check);
  CHECK_FALSE(plain.args->json);
  CHECK(plain.args->executions == 1);
  CHECK(plain.args->timeout == std::chrono::seconds(60));
  CHECK_FALSE(plain.args->max_memory_bytes);

  const Parsed all({"--check", "p", "--backend", "loopback", "--repeat", "7", "--timeout", "0.25",
                    "--json", "--max-memory", "2GB", "--pace", "12.5", "--trace", "t.json"});
  REQUIRE(all.args);
  CHECK(all.args->plan == "p");
  CHECK(all.args->check);
  CHECK(all.args->json);
  CHECK(all.args->executions == 7);
  CHECK(all.args->pace == 12.5);
  CHECK(all.args->trace == "t.json");
  CHECK(plain.args->pace == 0);
  CHECK(all.args->timeout == std::chrono::milliseconds(250));
  CHECK(all.args->max_memory_bytes == 2'000'000'000);
  CHECK(Parsed({"p", "--max-memory", "1GiB"}).args->max_memory_bytes == 1 << 30);
  CHECK(Parsed({"-"}).args->plan == "-");
}

TEST_CASE("usage errors exit with 2 and say what is wrong on standard error") {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"a", "b"},
      {"a", "--backend", "carrier-pigeon"},
      {"a", "--repeat", "0"},
      {"a", "--pace", "0"},
      {"a", "--pace", "nan"},
      {"a", "--pace", "2", "--backend", "mpi"},
      {"a", "--trace", "t.json", "--backend", "mpi"},
      {"a", "--no-shared-memory"},
      {"a", "--repeat", "-1"},
      {"a", "--repeat", "1.5"},
      {"a", "--timeout", "0"},
      {"a", "--timeout", "nan"},
      {"a", "--timeout", "1e9"},
      {"a", "--max-memory", "many"},
      {"a", "--max-memory", "99999999999GB"},
      {"a", "--max-memory", "99999999999999999999"},
      {"a", "--max-memory", "-1"},
      {"a", "--max-memory", "-5GB"},
      {"a", "--chekc"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    CAPTURE(arguments.size());
    CAPTURE((arguments.empty() ? "" : arguments.back()));
    const Parsed parsed(arguments);
    CHECK_FALSE(parsed.args);
    CHECK(parsed.exit_code == RunExit::kCannotJudge);
    CHECK(parsed.out.empty());
    CHECK_FALSE(parsed.err.empty());
  }
}

TEST_CASE("help goes to standard output, with examples, and exits with 0") {
  const Parsed help({"--help"});
  CHECK_FALSE(help.args);
  CHECK(help.exit_code == RunExit::kYes);
  CHECK(help.err.empty());
  CHECK(help.out.find("reshard-run plan.fb --check --repeat 3 --json") != std::string::npos);
}

}  // namespace
}  // namespace reshard
