#include "compiler/cli/show_command.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <vector>

#include "compiler/cli/read_input.h"
#include "compiler/cli/style_options.h"
#include "compiler/cli/write_escaped.h"
#include "compiler/plan_tools/canonical_plan.h"
#include "compiler/plan_tools/show_plan.h"
#include "compiler/plan_tools/show_points.h"
#include "compiler/plan_tools/show_program.h"
#include "compiler/plan_tools/show_tensor.h"
#include "compiler/plan_tools/show_traffic.h"
#include "compiler/plan_tools/tensor_places.h"

namespace reshard {
namespace {

// Prints what was asked for; false when the plan has no such rank or tensor.
bool Show(const PlanFile& file, const ShowArgs& args, std::ostream& out) {
  const Plan& plan = file.loaded.plan;
  const TextStyle& style = args.style;
  const bool json = style.format == OutputFormat::kJson;
  if (args.canonical) {
    PrintCanonical(Canonicalize(plan), out);
    return true;
  }
  if (args.ranks) {
    json ? ShowRanksJson(plan, out) : ShowRanksText(plan, style, out);
    return true;
  }
  if (args.messages) {
    json ? ShowMessagesJson(plan, out) : ShowMessagesText(plan, style, out);
    return true;
  }
  if (!args.dot.empty()) {
    ShowDot(plan, args.dot == "ranks" ? DotNodes::kRanks : DotNodes::kDomains, out);
    return true;
  }
  if (args.points) {
    ShowPoints(plan, args.source_points ? PlanSide::kSource : PlanSide::kDestination, args.rank,
               out);
    return true;
  }
  if (args.tensor) {
    return json ? ShowTensorJson(plan, *args.tensor, out)
                : ShowTensorText(plan, *args.tensor, style, out);
  }
  if (args.steps) return ShowProgramSteps(plan, *args.rank, out);
  if (args.rank) {
    return json ? ShowProgramJson(plan, *args.rank, out)
                : ShowProgramText(plan, *args.rank, style, out);
  }
  if (json) {
    ShowPlanJson(file.loaded, file.bytes, out);
  } else {
    ShowPlanText(file.loaded, file.bytes, style, out);
  }
  return true;
}

RankList RanksOf(const Plan& plan) {
  RankList ranks;
  for (const PlanRank& rank : plan.ranks) ranks.push_back(rank.rank);
  return ranks;
}

}  // namespace

void DeclareShow(CLI::App* app, ShowArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  CLI::Option* rank = app->add_option("--rank", args->rank, "the program of this rank");
  rank->check(CheckCount);
  CLI::Option* tensor =
      app->add_option("--tensor", args->tensor, "where this tensor comes from and goes");
  CLI::Option* points = app->add_flag(
      "--points", args->points, "`expect` entries of the destination (of --rank), ready to paste");
  app->add_flag("--source-points", args->source_points, "with --points: of the source")
      ->needs(points);
  tensor->excludes(rank)->excludes(points);
  CLI::Option* steps =
      app->add_flag("--steps", args->steps, "with --rank: its program round by round, whole")
          ->needs(rank);
  CLI::Option* ranks = app->add_flag("--ranks", args->ranks, "a row for every rank");
  CLI::Option* messages =
      app->add_flag("--messages", args->messages, "how many network messages of which size");
  CLI::Option* dot =
      app->add_option("--dot", args->dot, "bytes between ranks or domains, for Graphviz")
          ->check(CLI::IsMember({"ranks", "domains"}));
  CLI::Option* canonical =
      app->add_flag("--canonical", args->canonical,
                    "everything that the plan says, in an order of its own: for git diff");
  const std::vector<CLI::Option*> alone = {ranks, messages, dot, canonical};
  for (CLI::Option* option : alone) {
    option->excludes(rank)->excludes(tensor)->excludes(points);
    for (CLI::Option* other : alone) {
      if (other != option) option->excludes(other);
    }
  }
  steps->excludes(points);
  for (CLI::Option* option : DeclareStyle(app, &args->style)) {
    for (CLI::Option* fixed : {dot, canonical, steps}) option->excludes(fixed);
  }
}

ExitCode RunShow(const ShowArgs& args, FileSystem& files, std::ostream& out, std::ostream& err) {
  const std::optional<PlanFile> file = ReadPlan(args.plan, files, err);
  if (!file) return ExitCode::kCannotJudge;
  const Plan& plan = file->loaded.plan;
  std::ostringstream text;
  const bool rank_known = !args.rank || Contains(RanksOf(plan), *args.rank);
  if (rank_known && Show(*file, args, text)) {
    WriteEscaped(text.str(), out);
    return ExitCode::kYes;
  }
  err << ShownPath(args.plan) << ": error: ";
  if (!rank_known) {
    err << "no rank " << *args.rank << " in this plan, it has " << DescribeRanks(RanksOf(plan))
        << " [unknown-rank]\n";
  } else {
    err << "no tensor '" << EscapeForTerminal(*args.tensor) << "' in this plan"
        << DidYouMean(*args.tensor, SomeTensorNames(plan, *args.tensor)) << " [unknown-tensor]\n";
  }
  return ExitCode::kCannotJudge;
}

}  // namespace reshard
