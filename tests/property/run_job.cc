#include "tests/property/run_job.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/exec/loopback/testing/run_loopback.h"
#include "tests/property/compiled_job.h"
#include "tests/property/job_content.h"

namespace reshard {
namespace {

using ParamKey = std::tuple<uint32_t, bool, std::string>;  // rank, destination, name

class Runner {
 public:
  explicit Runner(const Job& job) : job_(job) {
    for (const JobParam& param : job.params) {
      params_.emplace(ParamKey{param.rank, param.destination, param.name}, &param);
    }
  }

  JobResult Run(uint32_t executions) {
    JobResult result;
    if (params_.size() != job_.params.size()) {
      result.problem = "the job names a param twice";
      return result;
    }
    result.problem = CompileJob(job_, &loaded_);
    result.network_bytes = loaded_.plan.header.totals.network_bytes;
    result.rounds = loaded_.plan.header.totals.rounds;
    if (result.problem.empty()) result.problem = Executed(executions);
    return result;
  }

 private:
  std::string Executed(uint32_t executions) {
    testing::LoopbackHooks hooks;
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
    const Status status = testing::RunLoopback(loaded_.plan, executions, {}, hooks);
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
    const std::vector<uint8_t> content = ParamContent(*expected, array, execution, false);
    std::copy(content.begin(), content.end(), param.bytes.begin());
    return "";
  }

  std::string Inspect(uint32_t execution, const LoopbackParam& param) const {
    const JobParam* expected = Find(param);
    const ElementArray array = expected->elements();
    const std::vector<uint8_t> content = ParamContent(*expected, array, execution, true);
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
  LoadedPlan loaded_;
};

}  // namespace

JobResult RunJob(const Job& job, uint32_t executions) { return Runner(job).Run(executions); }

}  // namespace reshard
