#include "compiler/cli/verify_command.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "compiler/cli/progress.h"
#include "compiler/cli/read_input.h"
#include "compiler/pipeline.h"
#include "compiler/plan_tools/summary.h"
#include "compiler/plan_tools/units.h"
#include "compiler/plan_tools/verify_inputs.h"
#include "runtime/base/sha256.h"
#include "runtime/plan/verify.h"

namespace reshard {
namespace {

// The comparison with the inputs; nullopt after the inputs' own errors were printed.
std::optional<InputsReport> CompareInputs(const Plan& plan, const VerifyArgs& args,
                                          FileSystem& files, std::ostream& err, Progress* progress,
                                          ExitCode* exit) {
  *exit = ExitCode::kCannotJudge;
  std::optional<InputFile> train = ReadInput(args.inputs[0], files, err);
  std::optional<InputFile> infer = ReadInput(args.inputs[1], files, err);
  std::optional<InputFile> topo = ReadInput(args.inputs[2], files, err);
  if (!train || !infer || !topo) return std::nullopt;
  progress->Enter("reading the inputs");
  Diagnostics diags;
  Compilation compilation;
  const bool ok = Compile(*std::move(train), *std::move(infer), *std::move(topo), CompileOptions{},
                          Stage::kLayout, &diags, nullptr, &compilation);
  progress->Leave();
  diags.Print(compilation.sources, kDefaultMaxErrors, err);
  if (!ok) {
    *exit = ExitCodeFor(diags);
    return std::nullopt;
  }
  PlanInputSpecs specs;
  specs.source = &compilation.train_spec;
  specs.destination = &compilation.infer_spec;
  specs.train_digest = compilation.train_digest;
  specs.infer_digest = compilation.infer_digest;
  specs.topo_digest = compilation.topo_digest;
  progress->Enter("comparing with the inputs");
  InputsReport report = VerifyInputs(plan, specs, InputsOptions{});
  progress->Leave();
  return report;
}

ExitCode Judge(bool violated, bool exhausted) {
  if (violated) return ExitCode::kNo;
  return exhausted ? ExitCode::kCannotJudge : ExitCode::kYes;
}

nlohmann::ordered_json ViolationsJson(const VerifyReport& report, const InputsReport* inputs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Violation& violation : report.violations) {
    list.push_back({{"rule", std::string(RuleText(violation.rule))},
                    {"where", violation.where},
                    {"text", violation.text}});
  }
  if (inputs == nullptr) return list;
  for (const InputsViolation& violation : inputs->violations) {
    list.push_back({{"rule", std::string(violation.rule)},
                    {"where", violation.where},
                    {"text", violation.text}});
  }
  return list;
}

void PrintJson(const PlanFile& file, const VerifyReport& report, const InputsReport* inputs,
               ExitCode verdict, std::ostream& out) {
  const Plan& plan = file.loaded.plan;
  nlohmann::ordered_json json;
  json["schema"] = "reshardc-verify/1";
  json["verdict"] = verdict == ExitCode::kYes  ? "sound"
                    : verdict == ExitCode::kNo ? "violated"
                                               : "undecided";
  json["root_digest"] = ToHex(file.loaded.root_digest);
  json["predicted_ns"] = plan.header.totals.predicted_ns;
  json["bound_ns"] = plan.header.totals.bound_ns;
  const PlanSummary summary = Summarize(plan);
  json["binding_cut"] = summary.binding_cut;
  if (!summary.no_bound.empty()) json["no_bound"] = summary.no_bound;
  json["busiest_ns"] = summary.busiest_ns;
  if (summary.relay_bound_ns > 0) {
    json["bound_if_only_holders_and_needers_relay_ns"] = summary.relay_bound_ns;
  }
  if (inputs != nullptr) json["inputs_compared"] = inputs->Coverage();
  json["violations"] = ViolationsJson(report, inputs);
  out << json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

void PrintText(const PlanFile& file, const InputsReport* inputs, std::ostream& out) {
  const Plan& plan = file.loaded.plan;
  const PlanTotals& totals = plan.header.totals;
  out << "sound: every destination byte is written once, from the right source byte, without "
         "races, "
         "within "
      << FormatBinary(totals.max_staging_bytes) << " of staging\n";
  const PlanSummary summary = Summarize(plan);
  out << "time " << FormatNanoseconds(totals.predicted_ns) << ", bound " << BoundText(plan, summary)
      << "\n";
  if (summary.relay_bound_ns > 0) out << "relays " << RelayBoundText(summary) << "\n";
  if (inputs != nullptr) out << "equal to the inputs: " << inputs->Coverage() << " compared\n";
  out << "digest " << ToHex(file.loaded.root_digest) << "\n";
}

}  // namespace

void DeclareVerify(CLI::App* app, VerifyArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  app->add_option("--inputs", args->inputs,
                  "TRAIN INFER TOPO: also derive every param anew from these and compare")
      ->expected(3);
  app->add_flag("--json", args->json, "print one JSON object");
}

ExitCode RunVerify(const VerifyArgs& args, FileSystem& files, std::ostream& out,
                   std::ostream& err) {
  const std::optional<PlanFile> file = ReadPlan(args.plan, files, err);
  if (!file) return ExitCode::kCannotJudge;
  const Plan& plan = file->loaded.plan;
  const std::string shown = ShownPath(args.plan);

  Progress progress(err, args.quiet);
  progress.Enter("verifying");
  const VerifyReport report = VerifyPlan(plan, VerifyOptions{});
  progress.Leave();
  std::optional<InputsReport> inputs;
  if (report.ok() && !args.inputs.empty()) {
    ExitCode exit{};
    inputs = CompareInputs(plan, args, files, err, &progress, &exit);
    if (!inputs) return exit;
  }
  const InputsReport* compared = inputs ? &*inputs : nullptr;

  for (const Violation& violation : report.violations) {
    err << shown << ": " << EscapeForTerminal(Describe(violation)) << "\n";
  }
  if (compared != nullptr) {
    for (const InputsViolation& violation : compared->violations) {
      err << shown << ": " << EscapeForTerminal(violation.where)
          << ": error: " << EscapeForTerminal(violation.text) << " [" << violation.rule << "]\n";
    }
  }
  const bool violated =
      !report.violations.empty() || (compared != nullptr && !compared->violations.empty());
  const bool exhausted = report.exhausted || (compared != nullptr && compared->exhausted);
  if (!violated && exhausted) {
    err << shown << ": error: the work budget ran out before every rule was judged "
        << "[verify-budget]\n";
  }
  const ExitCode verdict = Judge(violated, exhausted);
  if (args.json) {
    PrintJson(*file, report, compared, verdict, out);
  } else if (verdict == ExitCode::kYes) {
    PrintText(*file, compared, out);
  }
  return verdict;
}

}  // namespace reshard
