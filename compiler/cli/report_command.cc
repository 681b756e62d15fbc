#include "compiler/cli/report_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "compiler/cli/progress.h"
#include "compiler/cli/read_input.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/diff_tables.h"
#include "compiler/report/report_page.h"
#include "compiler/report/timeline.h"
#include "runtime/plan/verify.h"

namespace reshard {
namespace {

// What the page is made of, for one plan.
struct Judged {
  std::string path;
  PlanFile file;
  VerifyReport verified;
  Timeline timeline;
};

// The last part of a path: a page is sent around, where folders mean nothing.
std::string BaseName(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

// The plan's name in the page; with its folders where two plans would have the same.
std::string NameOf(const std::string& path, const std::string& other) {
  const bool same = !other.empty() && BaseName(path) == BaseName(other);
  return ShownPath(same ? path : BaseName(path));
}

DiffReport Compare(const Judged& before, const Judged& after,
                   const std::vector<ReportPlan>& plans) {
  DiffReport report;
  report.names = {plans[0].name, plans[1].name};
  for (size_t section = 0; section < kDiffSectionCount; ++section) {
    report.sections.push_back(static_cast<DiffSection>(section));
  }
  report.diff = DiffPlans(before.file.loaded, after.file.loaded);
  return report;
}

void PrintResult(const std::vector<ReportPlan>& plans, const DiffReport* diff, std::ostream& out) {
  for (const ReportPlan& plan : plans) {
    out << EscapeForTerminal(plan.name) << ": " << PlanVerdict(plan.verified) << "\n";
  }
  if (diff != nullptr) out << DiffVerdict(*diff) << "\n";
}

ExitCode Verdict(const std::list<Judged>& plans, std::ostream& err) {
  ExitCode exit = ExitCode::kYes;
  for (const Judged& judged : plans) {
    for (const Violation& violation : judged.verified.violations) {
      err << ShownPath(judged.path) << ": " << EscapeForTerminal(Describe(violation)) << "\n";
      exit = ExitCode::kNo;
    }
    if (judged.verified.exhausted && exit == ExitCode::kYes) {
      err << ShownPath(judged.path)
          << ": error: the work budget ran out before every rule was judged [verify-budget]\n";
      exit = ExitCode::kCannotJudge;
    }
  }
  return exit;
}

}  // namespace

void DeclareReport(CLI::App* app, ReportArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  app->add_option("other", args->other, "plan file to compare with it");
  app->add_option("-o,--output", args->output, "HTML file to write, '-' for standard output")
      ->required();
}

ExitCode RunReport(const ReportArgs& args, FileSystem& files, std::ostream& out,
                   std::ostream& err) {
  std::vector<std::string> paths = {args.plan};
  if (!args.other.empty()) paths.push_back(args.other);
  Progress progress(err, args.quiet);
  std::list<Judged> judged;
  for (const std::string& path : paths) {
    std::optional<PlanFile> file = ReadPlan(path, files, err);
    if (!file) return ExitCode::kCannotJudge;
    judged.push_back({path, *std::move(file), {}, {}});
  }
  if (!MayWrite(args.output, files, err)) return ExitCode::kCannotJudge;
  std::vector<ReportPlan> plans;
  for (Judged& one : judged) {
    const Plan& plan = one.file.loaded.plan;
    one.verified = VerifyPlan(plan, VerifyOptions{});
    progress.Enter("simulating");
    if (one.verified.ok()) {
      one.timeline = BuildTimeline(plan);
    } else {
      one.timeline.failure = "not simulated, because the plan is not proven sound";
    }
    const std::string& other = &one == &judged.front() ? args.other : args.plan;
    plans.push_back(
        {NameOf(one.path, other), one.file.loaded, one.file.bytes, one.verified, one.timeline});
  }
  std::optional<DiffReport> diff;
  if (plans.size() == 2) diff = Compare(judged.front(), judged.back(), plans);
  progress.Enter("writing the page");
  const std::string page = ReportPage(plans, diff ? &*diff : nullptr);
  progress.Leave();
  const Status written = files.Write(
      args.output, std::span(reinterpret_cast<const uint8_t*>(page.data()), page.size()));
  if (!written.ok()) {
    err << ShownOutput(args.output) << ": error: " << written.message() << " [cannot-write]\n";
    return ExitCode::kCannotJudge;
  }
  if (args.output != "-") PrintResult(plans, diff ? &*diff : nullptr, out);
  return Verdict(judged, err);
}

}  // namespace reshard
