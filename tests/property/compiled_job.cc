#include "tests/property/compiled_job.h"

#include <sstream>
#include <utility>

#include "compiler/pipeline.h"
#include "runtime/plan/verify.h"

namespace reshard {
namespace {

std::string Verified(const Plan& plan) {
  const VerifyReport report = VerifyPlan(plan, VerifyOptions{});
  if (report.exhausted) return "not verified within the budget";
  if (report.violations.empty()) return "";
  const Violation& first = report.violations[0];
  return "not verified: " + first.where + ": " + first.text + " [" +
         std::string(RuleText(first.rule)) + "]";
}

}  // namespace

std::string CompileJob(const Job& job, LoadedPlan* out) {
  Diagnostics diags;
  Compilation compilation;
  CompileOptions options;
  options.schedule.slice_bytes = job.slice_bytes;
  options.route = {job.strategy, job.heads};
  if (!Compile({"train.json", job.train}, {"infer.json", job.infer}, {"topo.json", job.topo},
               options, Stage::kPlan, &diags, {}, &compilation)) {
    std::ostringstream text;
    diags.Print(compilation.sources, 5, text);
    return "not compiled:\n" + text.str();
  }
  StatusOr<LoadedPlan> loaded = LoadPlan(compilation.bytes, LoadOptions{});
  if (!loaded.ok()) return "not loaded: " + std::string(loaded.status().message());
  *out = *std::move(loaded);
  return Verified(out->plan);
}

}  // namespace reshard
