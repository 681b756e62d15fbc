#include "tests/property/run_job.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/pipeline.h"
#include "runtime/exec/loopback/loopback_job.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/verify.h"

namespace reshard {
namespace {

using ParamKey = std::tuple<uint32_t, bool, std::string>;  // rank, destination, name

// A value that no other element of the model has (up to what `element_bytes` can tell apart).
uint64_t ValueOf(int32_t id, uint32_t execution) {
  uint64_t x = static_cast<uint64_t>(static_cast<uint32_t>(id)) * 0x9E3779B97F4A7C15u +
               (uint64_t{execution} + 1) * 0xD1B54A32D192ED03u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// What a destination element holds before an execution.
uint64_t StaleValue(uint32_t execution) { return 0x1111111111111111u * (execution + 3); }

uint64_t ExpectedValue(int32_t id, bool destination, uint32_t execution) {
  if (id >= 0) return ValueOf(id, execution);
  // Padding of a source is never looked at: anything may be in it.
  if (!destination || id == ElementArray::kKeep) return StaleValue(execution);
  return 0;
}

// The bytes of a param before an execution or `after` it.
std::vector<uint8_t> Content(const JobParam& param, const ElementArray& array, uint32_t execution,
                             bool after) {
  const auto element_bytes = static_cast<size_t>(param.element_bytes);
  std::vector<uint8_t> bytes(array.ids.size() * element_bytes);
  uint8_t* at = bytes.data();
  for (const int32_t id : array.ids) {
    uint64_t value = param.destination && !after ? StaleValue(execution)
                                                 : ExpectedValue(id, param.destination, execution);
    for (size_t b = 0; b < element_bytes; ++b, value >>= 8) *at++ = static_cast<uint8_t>(value);
  }
  return bytes;
}

class Runner {
 public:
  explicit Runner(const Job& job) : job_(job) {
    for (const JobParam& param : job.params) {
      params_.emplace(ParamKey{param.rank, param.destination, param.name}, &param);
    }
  }

  JobResult Run(uint32_t executions) {
    JobResult result;
    result.problem = Compiled();
    if (!result.problem.empty()) return result;
    result.network_bytes = plan_.header.totals.network_bytes;
    result.rounds = plan_.header.totals.rounds;
    result.problem = Verified();
    if (result.problem.empty()) result.problem = Executed(executions);
    return result;
  }

 private:
  std::string Compiled() {
    if (params_.size() != job_.params.size()) return "the job names a param twice";
    Diagnostics diags;
    Compilation compilation;
    CompileOptions options;
    options.schedule.slice_bytes = job_.slice_bytes;
    options.route.heads = job_.heads;
    if (!Compile({"train.json", job_.train}, {"infer.json", job_.infer}, {"topo.json", job_.topo},
                 options, Stage::kPlan, &diags, {}, &compilation)) {
      std::ostringstream text;
      diags.Print(compilation.sources, 5, text);
      return "not compiled:\n" + text.str();
    }
    StatusOr<LoadedPlan> loaded = LoadPlan(compilation.bytes, LoadOptions{});
    if (!loaded.ok()) return "not loaded: " + std::string(loaded.status().message());
    plan_ = std::move(loaded->plan);
    return "";
  }

  std::string Verified() const {
    const VerifyReport report = VerifyPlan(plan_, VerifyOptions{});
    if (report.exhausted) return "not verified within the budget";
    if (report.violations.empty()) return "";
    const Violation& first = report.violations[0];
    return "not verified: " + first.where + ": " + first.text + " [" +
           std::string(RuleText(first.rule)) + "]";
  }

  std::string Executed(uint32_t executions) {
    LoopbackOptions options;
    options.executions = executions;
    LoopbackHooks hooks;
    size_t seen = 0;
    std::string problem;
    hooks.fill = [&](uint32_t execution, const LoopbackParam& param) {
      if (execution == 0) ++seen;
      const std::string found = Fill(execution, param);
      if (problem.empty()) problem = found;
    };
    hooks.inspect = [&](uint32_t execution, const LoopbackParam& param) {
      if (problem.empty()) problem = Inspect(execution, param);
      return problem.empty() ? Status() : Status(StatusCode::kCorruptData, problem);
    };
    const Status status = RunLoopback(plan_, options, hooks, nullptr);
    if (!problem.empty()) return problem;
    if (!status.ok()) return "not executed: " + std::string(status.message());
    if (seen != job_.params.size()) {
      return "the plan has " + std::to_string(seen) + " params, expected " +
             std::to_string(job_.params.size());
    }
    return "";
  }

  const JobParam* Find(const LoopbackParam& param) const {
    const auto found = params_.find({param.rank, param.side == PlanSide::kDestination, param.name});
    return found == params_.end() ? nullptr : found->second;
  }

  static std::string NameOf(const LoopbackParam& param) {
    return "rank " + std::to_string(param.rank) +
           (param.side == PlanSide::kSource ? " source" : " destination") + " param '" +
           param.name + "'";
  }

  std::string Fill(uint32_t execution, const LoopbackParam& param) const {
    const JobParam* expected = Find(param);
    if (expected == nullptr) return NameOf(param) + " is not expected";
    const ElementArray array = expected->elements();
    if (param.bytes.size() != array.ids.size() * static_cast<size_t>(expected->element_bytes)) {
      return NameOf(param) + " has " + std::to_string(param.bytes.size()) + " bytes, expected " +
             std::to_string(array.ids.size()) + " elements of " +
             std::to_string(expected->element_bytes);
    }
    const std::vector<uint8_t> content = Content(*expected, array, execution, false);
    std::copy(content.begin(), content.end(), param.bytes.begin());
    return "";
  }

  std::string Inspect(uint32_t execution, const LoopbackParam& param) const {
    const JobParam* expected = Find(param);
    const ElementArray array = expected->elements();
    const std::vector<uint8_t> content = Content(*expected, array, execution, true);
    const auto wrong = std::mismatch(content.begin(), content.end(), param.bytes.begin()).first;
    if (wrong == content.end()) return "";
    const auto element =
        static_cast<size_t>(wrong - content.begin()) / static_cast<size_t>(expected->element_bytes);
    return NameOf(param) + ": element " + std::to_string(element) + " of " +
           std::to_string(array.ids.size()) + " is wrong, expected model element " +
           std::to_string(array.ids[element]) + ", in execution " + std::to_string(execution);
  }

  const Job& job_;
  std::map<ParamKey, const JobParam*> params_;
  Plan plan_;
};

}  // namespace

JobResult RunJob(const Job& job, uint32_t executions) { return Runner(job).Run(executions); }

}  // namespace reshard
