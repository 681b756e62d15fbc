#include "compiler/cli/explain_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "compiler/cli/read_input.h"
#include "compiler/cli/style_options.h"
#include "compiler/cli/write_escaped.h"
#include "compiler/plan_tools/print_explain.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

// What a wrong question is answered with: "text [code]".
using Error = std::optional<std::string>;

Error CheckRank(const Plan& plan, Rank rank) {
  RankList ranks;
  for (const PlanRank& entry : plan.ranks) ranks.push_back(entry.rank);
  if (Contains(ranks, rank)) return std::nullopt;
  return "no rank " + std::to_string(rank) + " in this plan, it has " + DescribeRanks(ranks) +
         " [unknown-rank]";
}

constexpr size_t kNamesListed = 4;

// The name that might have been meant, else some of those that there are.
std::string Hint(const std::string& asked, const std::vector<std::string>& names) {
  std::string hint = DidYouMean(asked, names);
  if (!hint.empty() || names.empty()) return hint;
  for (size_t i = 0; i < std::min(names.size(), kNamesListed); ++i) {
    hint += (i == 0 ? ", there is '" : ", '") + names[i] + "'";
  }
  return hint + (names.size() > kNamesListed ? " and others" : "");
}

Error CheckIndex(const PlanFamily& family, const std::vector<int64_t>& at) {
  bool inside = at.size() == family.shape.size();
  for (size_t i = 0; inside && i < at.size(); ++i) {
    inside = at[i] >= 0 && at[i] < family.shape[i];
  }
  if (inside) return std::nullopt;
  return "--at " + ListText(at) + " is no element of a param of shape " + ListText(family.shape) +
         " [bad-index]";
}

std::string SideText(const ExplainArgs& args) { return args.source ? "source" : "destination"; }

// What might have been meant by a param that the rank does not have.
std::string ParamHint(const Plan& plan, PlanSide side, const ExplainArgs& args) {
  const RankList others = RanksWithParam(plan, side, *args.param);
  if (!others.empty()) {
    return (others.size() == 1 ? ", rank " : ", ranks ") + DescribeRanks(others) +
           (others.size() == 1 ? " has it" : " have it");
  }
  const std::vector<std::string> names = SomeParamNames(plan, side, *args.rank, *args.param);
  if (names.empty()) return ", which has no " + SideText(args) + " params";
  return Hint(*args.param, names);
}

Error ExplainFlows(const Plan& plan, const ExplainArgs& args, std::ostream& out) {
  if (Error error = CheckRank(plan, *args.rank)) return error;
  FlowsReport report;
  report.param = *args.param;
  report.query.side = args.source ? PlanSide::kSource : PlanSide::kDestination;
  report.query.rank = *args.rank;
  const std::optional<ParamId> param = FindParam(plan, report.query.side, *args.rank, *args.param);
  if (!param) {
    return "no " + SideText(args) + " param '" + *args.param + "' on rank " +
           std::to_string(*args.rank) + ParamHint(plan, report.query.side, args) +
           " [unknown-param]";
  }
  report.query.param = *param;
  if (!args.at.empty()) {
    if (Error error = CheckIndex(plan.families[param->family], args.at)) return error;
    report.query.at = args.at;
  }
  report.why = args.why;
  report.explanation = ExplainParam(plan, report.query);
  report.fills = FillPartsOf(plan, *param, report.query.at);
  if (args.style.format == OutputFormat::kJson) {
    PrintFlowsJson(plan, report, out);
  } else {
    PrintFlowsText(plan, report, args.style, out);
  }
  return std::nullopt;
}

Error ExplainPassages(const Plan& plan, const ExplainArgs& args, std::ostream& out) {
  PassagesReport report;
  if (args.nic) {
    std::optional<std::vector<Passage>> found = PassagesOfNic(plan, *args.nic);
    if (!found) {
      std::vector<std::string> names;
      for (const PlanNic& nic : plan.nics) names.push_back(nic.name);
      return "no NIC '" + *args.nic + "' in this plan" + Hint(*args.nic, names) + " [unknown-nic]";
    }
    report.what = "messages of the ranks that use " + *args.nic;
    report.passages = *std::move(found);
    report.nic = TrafficOfNic(plan, *args.nic);
  } else {
    for (const Rank rank : args.edge) {
      if (Error error = CheckRank(plan, rank)) return error;
    }
    report.what =
        "rank " + std::to_string(args.edge[0]) + " to rank " + std::to_string(args.edge[1]);
    report.passages = PassagesBetween(plan, args.edge[0], args.edge[1]);
  }
  if (args.style.format == OutputFormat::kJson) {
    PrintPassagesJson(report, out);
  } else {
    PrintPassagesText(report, args.style, out);
  }
  return std::nullopt;
}

}  // namespace

void DeclareExplain(CLI::App* app, ExplainArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  CLI::Option_group* what = app->add_option_group("question");
  CLI::Option* param = what->add_option("--param", args->param, "where this param comes from");
  CLI::Option* rank =
      app->add_option("--rank", args->rank, "the rank that has the param")->check(CheckCount);
  param->needs(rank);
  rank->needs(param);
  app->add_option("--at", args->at, "only this element of the param, such as 3,0,7")
      ->delimiter(',')
      ->check([](const std::string& index) {
        return index.empty() ? "an index is missing" : std::string();
      })
      ->needs(param);
  app->add_flag("--source", args->source, "the param of the source: where it goes")->needs(param);
  app->add_flag("--why", args->why, "also what else might have sent it and taken it, with loads")
      ->needs(param);
  what->add_option("--nic", args->nic, "what passes this NIC, and when");
  what->add_option("--edge", args->edge, "FROM TO: what passes from one rank to another, and when")
      ->expected(2)
      ->check(CheckCount);
  what->require_option(1);
  DeclareStyle(app, &args->style);
}

ExitCode RunExplain(const ExplainArgs& args, FileSystem& files, std::ostream& out,
                    std::ostream& err) {
  const std::optional<PlanFile> file = ReadPlan(args.plan, files, err);
  if (!file) return ExitCode::kCannotJudge;
  const Plan& plan = file->loaded.plan;
  std::ostringstream text;
  const Error error =
      args.param ? ExplainFlows(plan, args, text) : ExplainPassages(plan, args, text);
  if (error) {
    err << ShownPath(args.plan) << ": error: " << EscapeForTerminal(*error) << "\n";
    return ExitCode::kCannotJudge;
  }
  WriteEscaped(text.str(), out);
  return ExitCode::kYes;
}

}  // namespace reshard
