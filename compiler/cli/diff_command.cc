#include "compiler/cli/diff_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/cli/read_input.h"
#include "compiler/cli/style_options.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/print_diff.h"

namespace reshard {
namespace {

constexpr DiffSection kSections[] = {
#define RESHARD_DIFF_SECTION(name, text) DiffSection::name,
#include "compiler/plan_tools/diff_sections.def"
#undef RESHARD_DIFF_SECTION
};

std::vector<DiffSection> SectionsNamed(const std::vector<std::string>& names) {
  std::vector<DiffSection> sections;
  for (const DiffSection section : kSections) {
    const bool named =
        std::find(names.begin(), names.end(), DiffSectionText(section)) != names.end();
    if (names.empty() || named) sections.push_back(section);
  }
  return sections;
}

}  // namespace

void DeclareDiff(CLI::App* app, DiffArgs* args) {
  std::vector<std::string> sections;
  for (const DiffSection section : kSections) sections.emplace_back(DiffSectionText(section));
  app->add_option("first", args->before, "plan file")->required();
  app->add_option("second", args->after, "plan file to compare with it")->required();
  app->add_option("--only", args->only, "sections to compare and show, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(sections));
  app->add_option("--fail-if", args->gates,
                  "exit with 1 only if one of these holds, such as "
                  "'time>+5%,staging>+64MiB,coverage'");
  DeclareStyle(app, &args->style);
}

ExitCode RunDiff(const DiffArgs& args, FileSystem& files, std::ostream& out, std::ostream& err) {
  std::vector<Gate> gates;
  if (!args.gates.empty()) {
    StatusOr<std::vector<Gate>> parsed = ParseGates(args.gates);
    if (!parsed.ok()) {
      err << "--fail-if: error: " << EscapeForTerminal(parsed.status().message())
          << " [bad-gate]\n";
      return ExitCode::kCannotJudge;
    }
    gates = *std::move(parsed);
  }
  if (args.before == "-" && args.after == "-") {
    err << "<stdin>: error: only one of the plans can come from standard input [cannot-read]\n";
    return ExitCode::kCannotJudge;
  }
  const std::optional<PlanFile> before = ReadPlan(args.before, files, err);
  const std::optional<PlanFile> after = ReadPlan(args.after, files, err);
  if (!before || !after) return ExitCode::kCannotJudge;

  DiffReport report;
  report.names = {ShownPath(args.before), ShownPath(args.after)};
  report.sections = SectionsNamed(args.only);
  report.diff = DiffPlans(before->loaded, after->loaded);
  report.gates = JudgeGates(gates, report.diff);
  report.style = args.style;
  PrintDiff(report, out);
  bool failed = report.gates.empty() && report.differs();
  for (const GateResult& gate : report.gates) failed = failed || !gate.passed;
  return failed ? ExitCode::kNo : ExitCode::kYes;
}

}  // namespace reshard
