#include "runtime/run/process_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/quantity_text.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/exec/loopback/param_buffers.h"
#include "runtime/plan/program.h"
#include "runtime/run/checked_run.h"
#include "runtime/run/layout_oracle.h"
#include "runtime/run/member_texts.h"
#include "runtime/run/run_report.h"

namespace reshard {
namespace {

constexpr int64_t kMemoryPercent = 80;

using Clock = std::chrono::steady_clock;

// What a member has found out before anything is executed.
struct Verdict {
  RunExit exit_code = RunExit::kYes;
  std::vector<std::string> messages;

  void Fail(RunExit code, std::string message) {
    exit_code = code;
    messages.push_back(std::move(message));
  }
  std::string ToText() const {
    return nlohmann::json{{"exit", static_cast<int>(exit_code)}, {"messages", messages}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
};

// One execution of one member.
struct MemberResult {
  int64_t elapsed_ns = 0;
  int64_t staging_bytes = 0;
  int64_t compared_bytes = 0;
  int64_t wrong_bytes = 0;
  std::optional<ContentDifference> first;

  std::string ToText() const {
    nlohmann::json json = {elapsed_ns, staging_bytes, compared_bytes, wrong_bytes};
    if (first) {
      json.push_back({first->rank, first->param, first->offset_bytes, first->index, first->expected,
                      first->found});
    }
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static MemberResult FromText(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    MemberResult result{json[0], json[1], json[2], json[3], std::nullopt};
    if (json.size() > 4) {
      const nlohmann::json& first = json[4];
      result.first = ContentDifference{first[0], first[1], first[2], first[3], first[4], first[5]};
    }
    return result;
  }
};

class ProcessRun {
 public:
  ProcessRun(const RunArgs& args, const RunEnvironment& environment,
             std::shared_ptr<Backend> backend, std::ostream& out, std::ostream& err)
      : args_(args),
        environment_(environment),
        backend_(std::move(backend)),
        control_(*backend_->control()),
        out_(out),
        err_(err) {}

  ProcessRunResult Run() {
    Verdict verdict;
    Prepare(&verdict);
    RunExit agreed = RunExit::kYes;
    const Status shared = ShareVerdict(verdict, &agreed);
    if (!shared.ok()) {
      PrintLine("error: member " + std::to_string(control_.member()) + ": " + shared.ToString());
      return {RunExit::kCannotJudge, false};
    }
    if (agreed != RunExit::kYes) return {agreed, true};
    CheckedRunResult result;
    const Status executed = Execute(&result);
    if (!executed.ok()) {
      PrintLine("error: rank " + std::to_string(rank()) + ": " + executed.ToString());
      const bool bug = executed.code() == StatusCode::kCorruptData;
      return {bug ? RunExit::kOurBug : RunExit::kCannotJudge, false};
    }
    if (control_.member() == 0) Report(std::move(result));
    return {ok_ ? RunExit::kYes : RunExit::kNo, true};
  }

 private:
  const Plan& plan() const { return loaded_->plan; }
  uint32_t rank() const { return plan().ranks[control_.member()].rank; }
  Deadline DeadlineFromNow() const { return Clock::now() + args_.timeout; }

  void Prepare(Verdict* verdict) {
    StatusOr<LoadedPlan> loaded = environment_.load(args_.plan);
    if (!loaded.ok()) {
      return verdict->Fail(RunExit::kCannotJudge, "error: " + loaded.status().ToString());
    }
    loaded_ = std::make_shared<LoadedPlan>(*std::move(loaded));
    if (plan().ranks.size() != control_.member_count()) {
      return verdict->Fail(RunExit::kCannotJudge,
                           "error: the plan has " + std::to_string(plan().ranks.size()) +
                               " ranks and the job " + std::to_string(control_.member_count()) +
                               " processes [invalid-argument]");
    }
    const PlanVerdict proof = environment_.verify(plan());
    verdict->messages = proof.violations;
    if (!proof.violations.empty()) {
      return verdict->Fail(RunExit::kNo, "error: the plan is wrong and was not executed");
    }
    if (proof.exhausted) {
      return verdict->Fail(RunExit::kCannotJudge,
                           "error: the plan is too large to be verified and was not executed");
    }
    const StatusOr<LoopbackMemory> memory = LoopbackMemoryOf(plan());
    if (!memory.ok()) {
      return verdict->Fail(RunExit::kCannotJudge, "error: " + memory.status().ToString());
    }
    memory_ = *memory;
    AllocateParams(verdict);
  }

  void AllocateParams(Verdict* verdict) {
    int64_t needed = plan().ranks[control_.member()].staging_bytes();
    for (const ExpectedParam& param : ParamsOfRank(plan(), rank())) needed += param.bytes;
    std::optional<int64_t> limit = args_.max_memory_bytes;
    if (!limit) {
      const std::optional<int64_t> available = environment_.available_memory_bytes();
      if (available) limit = *available / 100 * kMemoryPercent;
    }
    if (limit && needed > *limit) {
      return verdict->Fail(RunExit::kCannotJudge, "error: rank " + std::to_string(rank()) +
                                                      " needs " + FormatBinary(needed) +
                                                      " of memory, the limit is " +
                                                      FormatBinary(*limit) + " [limit-exceeded]");
    }
    const Status added = buffers_.Add(plan(), rank());
    if (!added.ok()) verdict->Fail(RunExit::kCannotJudge, "error: " + added.ToString());
  }

  // The worst verdict of all members.
  Status ShareVerdict(const Verdict& mine, RunExit* agreed) {
    const StatusOr<std::vector<std::string>> texts =
        GatherTexts(&control_, mine.ToText(), DeadlineFromNow());
    if (!texts.ok()) return texts.status();
    int worst = 0;
    std::map<std::vector<std::string>, std::vector<size_t>> members_of;
    for (size_t m = 0; m < texts->size(); ++m) {
      const nlohmann::json json = nlohmann::json::parse((*texts)[m]);
      worst = std::max(worst, json["exit"].get<int>());
      members_of[json["messages"]].push_back(m);
    }
    if (control_.member() == 0) {
      for (const auto& [messages, members] : members_of) Say(messages, members);
    }
    *agreed = static_cast<RunExit>(worst);
    return Status();
  }

  // In one piece: the members share one standard error, which is not buffered.
  void PrintLine(const std::string& text) {
    const std::string line = args_.plan + ": " + text + "\n";
    err_.write(line.data(), static_cast<std::streamsize>(line.size())).flush();
  }

  void Say(const std::vector<std::string>& messages, const std::vector<size_t>& members) {
    for (const std::string& message : messages) {
      std::string whose;
      if (members.size() < control_.member_count()) {
        whose = members.size() == 1 ? "member " : "members ";
        for (size_t m = 0; m < members.size(); ++m) {
          whose += (m == 0 ? "" : ",") + std::to_string(members[m]);
        }
        whose += ": ";
      }
      PrintLine(whose + message);
    }
  }

  Status Execute(CheckedRunResult* result) {
    const auto shared = std::make_shared<SharedPlan>();
    shared->plan = std::shared_ptr<const Plan>(loaded_, &loaded_->plan);
    shared->index = BuildProgramIndex(plan());
    shared->root_digest = loaded_->root_digest;
    ExecutorOptions options;
    options.wait_timeout = args_.timeout;
    StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(shared, rank(), backend_, options);
    if (!executor.ok()) return executor.status();
    for (const LoopbackParam& param : buffers_.params()) {
      RESHARD_RETURN_IF_ERROR((*executor)->Bind(
          {param.side, param.name, param.bytes.data(), static_cast<int64_t>(param.bytes.size())}));
    }
    RESHARD_RETURN_IF_ERROR((*executor)->Prepare(args_.timeout));
    for (uint32_t e = 0; e < args_.executions && result->ok(); ++e) {
      RESHARD_RETURN_IF_ERROR(ExecuteOnce(e, executor->get(), result));
    }
    ok_ = result->ok();
    return Status();
  }

  Status ExecuteOnce(uint32_t execution, Executor* executor, CheckedRunResult* result) {
    const LayoutOracle oracle(plan());
    const std::span<const LoopbackParam> params = buffers_.params();
    if (args_.check || execution == 0) {
      oracle.Fill(params, execution);
      hashes_ = LayoutOracle::HashSources(params);
    }
    // All begin together, so that none counts the time in which another one fills its params.
    const StatusOr<std::vector<std::string>> ready = GatherTexts(&control_, "", DeadlineFromNow());
    if (!ready.ok()) return ready.status();
    MemberResult mine;
    const Clock::time_point begin = Clock::now();
    RESHARD_RETURN_IF_ERROR(executor->Start(nullptr, uint64_t{execution} + 1));
    StatusOr<bool> over = executor->Wait(args_.timeout);
    while (over.ok() && !*over) over = executor->Wait(args_.timeout);
    if (!over.ok()) return over.status();
    mine.elapsed_ns = std::chrono::nanoseconds(Clock::now() - begin).count();
    mine.staging_bytes = executor->arena_bytes();
    if (args_.check) Compare(oracle, execution, &mine);
    return AddAll(mine, result);
  }

  void Compare(const LayoutOracle& oracle, uint32_t execution, MemberResult* mine) {
    const std::span<const LoopbackParam> params = buffers_.params();
    // A source that was overwritten explains wrong destinations, so it goes first.
    for (const RankCheck& check :
         {LayoutOracle::CheckSource(params, hashes_), oracle.CheckDestination(params, execution)}) {
      mine->compared_bytes += check.compared_bytes;
      mine->wrong_bytes += check.wrong_bytes;
      if (check.first && !mine->first) {
        mine->first = ExplainDifference(plan(), params, *check.first, execution);
      }
    }
  }

  Status AddAll(const MemberResult& mine, CheckedRunResult* result) {
    const StatusOr<std::vector<std::string>> texts =
        GatherTexts(&control_, mine.ToText(), DeadlineFromNow());
    if (!texts.ok()) return texts.status();
    std::chrono::nanoseconds slowest{0};
    for (const std::string& text : *texts) {
      MemberResult member = MemberResult::FromText(text);
      slowest = std::max(slowest, std::chrono::nanoseconds(member.elapsed_ns));
      result->max_staging_bytes = std::max(result->max_staging_bytes, member.staging_bytes);
      result->compared_bytes += member.compared_bytes;
      result->wrong_bytes += member.wrong_bytes;
      if (member.first && !result->first) result->first = std::move(member.first);
    }
    result->elapsed.push_back(slowest);
    return Status();
  }

  void Report(CheckedRunResult result) {
    const RunReport report{&args_, loaded_.get(), memory_, std::move(result)};
    args_.json ? PrintRunJson(report, out_) : PrintRunText(report, out_);
    if (report.result.first) {
      PrintLine("error: " + report.result.first->Text() + " [wrong-byte]");
    }
  }

  const RunArgs& args_;
  const RunEnvironment& environment_;
  const std::shared_ptr<Backend> backend_;
  ControlChannel& control_;
  std::ostream& out_;
  std::ostream& err_;
  std::shared_ptr<LoadedPlan> loaded_;
  LoopbackMemory memory_;
  ParamBuffers buffers_;
  std::vector<uint64_t> hashes_;
  bool ok_ = true;
};

}  // namespace

ProcessRunResult RunOnProcesses(const RunArgs& args, const RunEnvironment& environment,
                                std::shared_ptr<Backend> backend, std::ostream& out,
                                std::ostream& err) {
  return ProcessRun(args, environment, std::move(backend), out, err).Run();
}

}  // namespace reshard
