#include "runtime/run/run_command.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"
#include "runtime/run/run_report.h"

namespace reshard {
namespace {

// A command with a plan at hand that passes verification and plenty of memory.
struct Fixture {
  explicit Fixture(Plan from) : plan(std::move(from)) {
    args.plan = "p.fb";
    args.check = true;
    args.timeout = std::chrono::seconds(20);
    environment.load = [this](const std::string& path) -> StatusOr<LoadedPlan> {
      if (path != "p.fb") return Status(StatusCode::kNotFound, "no such file");
      LoadedPlan loaded;
      loaded.plan = plan;
      loaded.root_digest.fill(0xAB);
      return loaded;
    };
    environment.verify = [this](const Plan&) { return verdict; };
    environment.available_memory_bytes = [this] { return available_bytes; };
  }
  RunExit Run() {
    std::ostringstream out_stream, err_stream;
    const RunExit exit_code = RunCommand(args, environment, out_stream, err_stream);
    out = out_stream.str();
    err = err_stream.str();
    return exit_code;
  }
  Plan plan;
  RunArgs args;
  RunEnvironment environment;
  PlanVerdict verdict;
  std::optional<int64_t> available_bytes = int64_t{1} << 30;
  std::string out, err;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a right plan: a report on standard output, memory on standard error, exit 0") {
  Fixture f(testing::ReplicatedPlan());
  f.args.executions = 3;
  CHECK(f.Run() == RunExit::kYes);
  CHECK(Has(f.out, "plan: 8 ranks, 6 rounds, 16 messages\n"));
  CHECK(Has(f.out,
            "moved: 12.3 kB over the network, 12.3 kB inside domains, 12.3 kB inside "
            "ranks\n"));
  CHECK(Has(f.out, "(median of 3), 24.6 kB delivered at "));
  CHECK(Has(f.out, "staging: 3 KiB allocated on one rank at most, 3 KiB planned\n"));
  CHECK(Has(f.out, "check: all 98.3 kB right\n"));
  CHECK(Has(f.err, "p.fb: needs "));
  f.args.check = false;
  CHECK(f.Run() == RunExit::kYes);
  CHECK_FALSE(Has(f.out, "check:"));
}

TEST_CASE("JSON states the same as exact numbers") {
  Fixture f(testing::ToyPlan());
  f.args.json = true;
  f.args.executions = 2;
  CHECK(f.Run() == RunExit::kYes);
  const nlohmann::json json = nlohmann::json::parse(f.out);
  CHECK(json["schema"] == "reshard-run/1");
  CHECK(json["plan"]["digest"].get<std::string>().substr(0, 4) == "abab");
  CHECK(json["plan"]["ranks"] == 6);
  CHECK(json["plan"]["rounds"] == 2);
  CHECK(json["plan"]["messages"] == 8);
  CHECK(json["backend"] == "loopback");
  CHECK(json["executions"] == 2);
  CHECK(json["bytes"] ==
        nlohmann::json{{"network", 256}, {"scaleup", 0}, {"local", 256}, {"delivered", 256}});
  CHECK(json["seconds"].size() == 2);
  CHECK(json["median_seconds"].get<double>() > 0);
  CHECK(json["delivered_gb_per_s"].get<double>() > 0);
  CHECK(json["staging_bytes"] == nlohmann::json{{"allocated", 1024}, {"planned", 1024}});
  CHECK(json["memory_bytes"]["staging"] == 2 * 1024 + 4 * 768);
  CHECK(json["check"] ==
        nlohmann::json{{"compared_bytes", 1024}, {"wrong_bytes", 0}, {"first", nullptr}});
  f.args.check = false;
  CHECK(f.Run() == RunExit::kYes);
  CHECK(nlohmann::json::parse(f.out)["check"].is_null());
}

TEST_CASE("a trace does not overwrite the plan") {
  Fixture f(testing::ToyPlan());
  const std::string plan = std::string(std::getenv("TEST_TMPDIR")) + "/p.fb";
  std::ofstream(plan) << "a plan";
  f.environment.load = [load = f.environment.load](const std::string&) { return load("p.fb"); };
  f.args.plan = plan;
  f.args.trace = std::string(std::getenv("TEST_TMPDIR")) + "/./p.fb";
  CHECK(f.Run() == RunExit::kCannotJudge);
  std::string kept;
  std::getline(std::ifstream(plan) >> std::ws, kept);
  CHECK(kept == "a plan");
}

TEST_CASE("a paced run is as slow as its links, and its trace has every message and copy") {
  Fixture f(testing::ReplicatedPlan());
  f.args.json = true;
  f.args.pace = 10'000;  // NICs of 100 kB/s
  f.args.trace = std::string(std::getenv("TEST_TMPDIR")) + "/run.json";
  CHECK(f.Run() == RunExit::kYes);
  const nlohmann::json json = nlohmann::json::parse(f.out);
  CHECK(json["pace"] == 10'000);
  CHECK(json["predicted_seconds"] == 126.144e-6);
  // Four slices of 1024 bytes pass a NIC one after the other; a clock may forgive 5 ms at first.
  CHECK(json["seconds"][0].get<double>() >= 4 * 0.01024 - 0.005);
  CHECK(json["slowest"]["seconds"].get<double>() > 0);

  std::ifstream file(f.args.trace);
  const nlohmann::json trace = nlohmann::json::parse(file);
  CHECK(trace["displayTimeUnit"] == "ns");
  int64_t messages = 0, message_bytes = 0, copies = 0, copy_bytes = 0;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    CHECK(event["dur"].get<double>() >= 0);
    CHECK(event["args"].contains("round"));
    const bool message = event["cat"] == "message";
    if (!message && event["cat"] != "copy") continue;
    (message ? messages : copies) += 1;
    (message ? message_bytes : copy_bytes) += event["args"]["bytes"].get<int64_t>();
    CHECK(event["name"] == "round " + event["args"]["round"].dump() + ": " +
                               event["args"]["src"].dump() + " to " + event["args"]["dst"].dump());
  }
  const PlanTotals& totals = f.plan.header.totals;
  CHECK(messages == totals.messages);
  CHECK(message_bytes == totals.network_bytes);
  CHECK(copies > 0);
  CHECK(copy_bytes == totals.scaleup_bytes + totals.local_bytes);

  f.args.json = false;
  f.args.trace = "/absent/folder/run.json";
  CHECK(f.Run() == RunExit::kCannotJudge);
  CHECK(Has(f.err, "cannot write '/absent/folder/run.json': No such file or directory"));
}

TEST_CASE("wrong bytes: exit 1, the first one named") {
  Fixture f(testing::ToyPlan());
  std::swap(f.plan.pieces[1].cls, f.plan.pieces[5].cls);
  CHECK(f.Run() == RunExit::kNo);
  CHECK(Has(f.out, "check: 64 of 512 bytes are wrong in execution 1\n"));
  CHECK(Has(f.err, "p.fb: error: rank 2, 'w.columns' [4, 0] (byte 32): expected w[4, 0], found "));
  CHECK(Has(f.err, " [wrong-byte]\n"));
  f.args.json = true;
  CHECK(f.Run() == RunExit::kNo);
  const nlohmann::json first = nlohmann::json::parse(f.out)["check"]["first"];
  CHECK(first["rank"] == 2);
  CHECK(first["param"] == "w.columns");
  CHECK(first["byte"] == 32);
  CHECK(first["index"] == nlohmann::json{4, 0});
  CHECK(first["expected"] == "w[4, 0]");
}

TEST_CASE("a plan that breaks a rule is not executed: exit 1; one not proved: exit 2") {
  Fixture f(testing::ToyPlan());
  f.verdict.violations.push_back("rank 3, round 17: error: two writers [write-race]");
  CHECK(f.Run() == RunExit::kNo);
  CHECK(f.out.empty());
  CHECK(Has(f.err, "p.fb: rank 3, round 17: error: two writers [write-race]\n"));
  CHECK(Has(f.err, "was not executed"));
  f.verdict = {};
  f.verdict.exhausted = true;
  CHECK(f.Run() == RunExit::kCannotJudge);
  CHECK(f.out.empty());
}

TEST_CASE("an unreadable plan: exit 2") {
  Fixture f(testing::ToyPlan());
  f.args.plan = "q.fb";
  CHECK(f.Run() == RunExit::kCannotJudge);
  CHECK(f.err == "q.fb: error: no such file [not-found]\n");
}

TEST_CASE("too little memory: exit 2 before anything is allocated") {
  Fixture f(testing::ToyPlan());
  f.plan.families[2].bytes = int64_t{1} << 40;
  CHECK(f.Run() == RunExit::kCannotJudge);
  CHECK(f.out.empty());
  CHECK(Has(f.err, "p.fb: needs 1 TiB of memory"));
  CHECK(Has(f.err, "the limit is 819.2 MiB, 80 % of what is available"));
  f.plan = testing::ToyPlan();
  f.args.max_memory_bytes = 5000;
  CHECK(f.Run() == RunExit::kCannotJudge);
  CHECK(Has(f.err, "the limit is 4.9 KiB; "));
  f.args.max_memory_bytes = 20000;
  f.available_bytes = 0;
  CHECK(f.Run() == RunExit::kYes);
  f.args.max_memory_bytes.reset();
  f.available_bytes.reset();
  CHECK(f.Run() == RunExit::kYes);
}

TEST_CASE("a verified plan that cannot be executed is our bug: exit 3") {
  Fixture f(testing::ToyPlan());
  f.plan.injects[4].begin = 0;
  CHECK(f.Run() == RunExit::kOurBug);
}

}  // namespace
}  // namespace reshard
