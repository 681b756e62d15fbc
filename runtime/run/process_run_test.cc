#include "runtime/run/process_run.h"

#include <atomic>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "nlohmann/json.hpp"
#include "runtime/exec/loopback/loopback_backend.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A stream that notes what is written at a time.
class PiecesBuffer final : public std::stringbuf {
 public:
  std::vector<std::string> pieces;

 protected:
  std::streamsize xsputn(const char* text, std::streamsize bytes) override {
    pieces.emplace_back(text, static_cast<size_t>(bytes));
    return std::stringbuf::xsputn(text, bytes);
  }
};

// A job of as many members as the plan has ranks, each a thread in the place of a process.
struct Job {
  explicit Job(Plan p) : plan(std::move(p)), members(static_cast<uint32_t>(plan.ranks.size())) {
    args.plan = "p.fb";
    args.backend = RunBackend::kMpi;
    args.check = true;
    args.timeout = std::chrono::seconds(10);
    plans.assign(members, plan);
  }

  void Run() {
    const LoopbackGroup group(members);
    out.assign(members, "");
    err.assign(members, "");
    results.assign(members, {});
    std::vector<std::thread> threads;
    for (uint32_t m = 0; m < members; ++m) {
      threads.emplace_back([this, m, &group] {
        RunEnvironment environment;
        environment.load = [this, m](const std::string&) -> StatusOr<LoadedPlan> {
          if (!load_failure.ok() && m == 2) return load_failure;
          LoadedPlan loaded;
          loaded.plan = plans[m];
          loaded.root_digest.fill(digests[m]);
          return loaded;
        };
        environment.verify = [this](const Plan&) { return verdict; };
        environment.available_memory_bytes = [] { return int64_t{1} << 40; };
        std::ostringstream out_stream;
        PiecesBuffer err_buffer;
        std::ostream err_stream(&err_buffer);
        results[m] = RunOnProcesses(args, environment, group.backends()[m], out_stream, err_stream);
        out[m] = out_stream.str();
        err[m] = err_buffer.str();
        // All members write to one standard error.
        for (const std::string& piece : err_buffer.pieces) {
          if (!piece.ends_with("\n")) whole_lines = false;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(whole_lines);
  }
  std::vector<RunExit> Codes(bool together) const {
    std::vector<RunExit> codes;
    for (const ProcessRunResult& result : results) {
      codes.push_back(result.exit_code);
      CHECK(result.together == together);
    }
    return codes;
  }

  const Plan plan;
  uint32_t members;
  RunArgs args;
  std::vector<Plan> plans;              // by member
  std::map<uint32_t, uint8_t> digests;  // 0 unless stated
  Status load_failure;                  // of member 2
  PlanVerdict verdict;
  std::vector<std::string> out, err;
  std::atomic<bool> whole_lines = true;
  std::vector<ProcessRunResult> results;
};

TEST_CASE("member 0 reports what all have compared") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    Job job(named.plan);
    for (uint32_t m = 0; m < job.members; ++m) job.digests[m] = 0;
    job.args.json = true;
    job.args.executions = 2;
    job.Run();
    CHECK(job.Codes(true) == std::vector<RunExit>(job.members, RunExit::kYes));
    const nlohmann::json json = nlohmann::json::parse(job.out[0]);
    CHECK(json["backend"] == "mpi");
    CHECK(json["executions"] == 2);
    CHECK(json["check"]["wrong_bytes"] == 0);
    const PlanTotals& totals = job.plan.header.totals;
    CHECK(json["check"]["compared_bytes"] >= 2 * (totals.source_bytes + totals.destination_bytes));
    CHECK(json["staging_bytes"]["allocated"] == json["staging_bytes"]["planned"]);
    for (uint32_t m = 1; m < job.members; ++m) CHECK(job.out[m].empty());
  }
}

TEST_CASE("a wrong byte of any member is everybody's exit status, and member 0 names it") {
  Job job(testing::ToyPlan());
  for (uint32_t m = 0; m < job.members; ++m) job.digests[m] = 0;
  for (Plan& plan : job.plans) std::swap(plan.pieces[1].cls, plan.pieces[5].cls);
  job.Run();
  CHECK(job.Codes(true) == std::vector<RunExit>(job.members, RunExit::kNo));
  CHECK(Has(job.out[0], "bytes are wrong in execution 1"));
  CHECK(Has(job.err[0], "p.fb: error: rank 2, 'w.columns' [4, 0] (byte 32): expected w[4, 0]"));
  CHECK(job.err[3].empty());
}

TEST_CASE("what one member cannot do ends all, and member 0 says whose it is") {
  Job job(testing::ToyPlan());
  for (uint32_t m = 0; m < job.members; ++m) job.digests[m] = 0;
  job.load_failure = Status(StatusCode::kNotFound, "no such file");
  job.Run();
  CHECK(job.Codes(true) == std::vector<RunExit>(job.members, RunExit::kCannotJudge));
  CHECK(job.err[0] == "p.fb: member 2: error: no such file [not-found]\n");
  CHECK(job.err[2].empty());

  Job wrong(testing::ToyPlan());
  for (uint32_t m = 0; m < wrong.members; ++m) wrong.digests[m] = 0;
  wrong.verdict.violations.push_back("rank 3, round 17: error: two writers [write-race]");
  wrong.Run();
  CHECK(wrong.Codes(true) == std::vector<RunExit>(wrong.members, RunExit::kNo));
  CHECK(wrong.err[0] ==
        "p.fb: rank 3, round 17: error: two writers [write-race]\n"
        "p.fb: error: the plan is wrong and was not executed\n");
}

TEST_CASE("a member with another plan: no byte moves, every member says so") {
  Job job(testing::ToyPlan());
  for (uint32_t m = 0; m < job.members; ++m) job.digests[m] = m == 4 ? 9 : 7;
  job.Run();
  CHECK(job.Codes(false) == std::vector<RunExit>(job.members, RunExit::kCannotJudge));
  for (uint32_t m = 0; m < job.members; ++m) {
    CAPTURE(m);
    CHECK(Has(job.err[m], "ranks hold different plans: "));
    CHECK(Has(job.err[m], "rank 4 0909"));
    CHECK(job.out[m].empty());
  }
}

TEST_CASE("a job of another size than the plan: exit 2") {
  Job job(testing::ToyPlan());
  ++job.members;
  job.plans.push_back(job.plan);
  for (uint32_t m = 0; m < job.members; ++m) job.digests[m] = 0;
  job.Run();
  CHECK(job.Codes(true) == std::vector<RunExit>(job.members, RunExit::kCannotJudge));
  CHECK(job.err[0] ==
        "p.fb: error: the plan has 6 ranks and the job 7 processes [invalid-argument]\n");
}

}  // namespace
}  // namespace reshard
