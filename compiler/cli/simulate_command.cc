#include "compiler/cli/simulate_command.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "compiler/cli/progress.h"
#include "compiler/cli/read_input.h"
#include "compiler/cli/write_escaped.h"
#include "compiler/emit/plan_topology.h"
#include "compiler/pipeline.h"
#include "compiler/plan_tools/units.h"
#include "compiler/simulate/baselines.h"
#include "compiler/simulate/sim_report.h"
#include "compiler/simulate/trace.h"
#include "runtime/plan/plan_options.h"

namespace reshard {
namespace {

// Puts the topology of a file in the place of the plan's own.
bool ReplaceTopology(const SimulateArgs& args, FileSystem& files, std::ostream& err, Plan* plan,
                     ExitCode* exit) {
  *exit = ExitCode::kCannotJudge;
  std::optional<InputFile> file = ReadInput(args.topo, files, err);
  if (!file) return false;
  Diagnostics diags;
  SourceMap sources;
  Topology topology;
  const bool ok = ReadTopology(*std::move(file), &diags, &sources, &topology);
  diags.Print(sources, kDefaultMaxErrors, err);
  if (!ok) {
    *exit = ExitCodeFor(diags);
    return false;
  }
  for (const PlanRank& rank : plan->ranks) {
    if (topology.site_index.contains(rank.rank)) continue;
    err << ShownPath(args.topo) << ": error: rank " << rank.rank
        << " of the plan has no place in this topology [no-place]\n";
    *exit = ExitCode::kNo;
    return false;
  }
  RankList excluded;
  for (const PlanRank& rank : plan->ranks) {
    if (topology.Site(rank.rank)->excluded) excluded.push_back(rank.rank);
  }
  const bool one = excluded.size() == 1;
  if (!excluded.empty()) {
    err << ShownPath(args.topo) << ": error: " << (one ? "rank " : "ranks ")
        << DescribeRanks(excluded) << " of the plan " << (one ? "is" : "are")
        << " excluded in this topology [rank-excluded]\n";
    *exit = ExitCode::kNo;
    return false;
  }
  plan->nics.clear();
  plan->domains.clear();
  plan->groups.clear();
  plan->sites.clear();
  FillTopology(topology, plan);
  return true;
}

std::string TraceText(const Plan& plan, const SimResult& result) {
  std::ostringstream trace;
  WriteTrace(plan, result, trace);
  return std::move(trace).str();
}

bool WriteTraceFile(const SimulateArgs& args, const std::string& text, FileSystem& files,
                    std::ostream& err) {
  const Status written = files.Write(
      args.trace, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  if (written.ok()) return true;
  err << ShownOutput(args.trace) << ": error: " << written.message() << " [cannot-write]\n";
  return false;
}

// All of `text` as a number.
std::optional<uint32_t> ParseRound(std::string_view text) {
  uint32_t round = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), round);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return round;
}

// "3..7": rounds 3 to 7; "3..": from 3 on. False when malformed.
bool ParseRounds(const std::string& text, SimOptions* options) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  const std::string_view all = text;
  const std::optional<uint32_t> first = ParseRound(all.substr(0, dots));
  const std::string_view last_text = all.substr(dots + 2);
  const std::optional<uint32_t> last =
      last_text.empty() ? std::optional<uint32_t>(UINT32_MAX - 1) : ParseRound(last_text);
  if (!first || !last || *last < *first || *last == UINT32_MAX) return false;
  options->first_round = *first;
  options->end_round = *last + 1;
  return true;
}

}  // namespace

void DeclareSimulate(CLI::App* app, SimulateArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  app->add_option("--topo", args->topo, "another topology than the plan's own");
  app->add_option_function<std::string>(
         "--round-cost",
         [args](const std::string& text) {
           const std::optional<int64_t> parsed = ParseNanoseconds(text);
           if (!parsed) {
             throw CLI::ValidationError("--round-cost", "'" + text + "' is no time such as 20us");
           }
           args->round_cost_ns = *parsed;
         },
         "what a rank's group of network operations costs, default what the plan was made for")
      ->type_name("TIME");
  CLI::Option* rounds =
      app->add_option_function<std::string>(
             "--rounds",
             [args](const std::string& text) {
               if (!ParseRounds(text, &args->options)) {
                 throw CLI::ValidationError("--rounds", "'" + text + "' is no range such as 0..99");
               }
             },
             "only these rounds; what comes before counts as done")
          ->type_name("A..B");
  app->add_flag("--baselines", args->baselines, "compare with other ways to move the same weights")
      ->excludes(rounds);
  app->add_option("--trace", args->trace,
                  "trace for Chrome or Perfetto to write, '-' for standard output");
  app->add_flag("--json", args->json, "print one JSON object");
}

ExitCode RunSimulate(const SimulateArgs& args, FileSystem& files, std::ostream& out,
                     std::ostream& err) {
  std::optional<PlanFile> file = ReadPlan(args.plan, files, err);
  if (!file) return ExitCode::kCannotJudge;
  Plan& plan = file->loaded.plan;
  if (args.options.first_round >= plan.header.totals.rounds) {
    err << ShownPath(args.plan) << ": error: no round " << args.options.first_round
        << " in this plan, it has " << plan.header.totals.rounds << " [unknown-round]\n";
    return ExitCode::kCannotJudge;
  }
  ExitCode exit{};
  if (!args.topo.empty() && !ReplaceTopology(args, files, err, &plan, &exit)) return exit;
  if (!MayWrite(args.trace, files, err)) return ExitCode::kCannotJudge;
  Progress progress(err, args.quiet);
  SimOptions options = args.options;
  options.round_cost_ns = args.round_cost_ns.value_or(RoundCostNs(plan));
  options.record_spans = !args.trace.empty();
  progress.Enter("simulating");
  const SimResult result = Simulate(plan, options);
  progress.Leave();
  if (!result.failure.empty()) {
    err << ShownPath(args.plan) << ": error: " << result.failure << " [no-way]\n";
    return ExitCode::kNo;
  }
  if (!args.trace.empty()) {
    progress.Enter("writing the trace");
    const std::string trace = TraceText(plan, result);
    progress.Leave();
    if (!WriteTraceFile(args, trace, files, err)) return ExitCode::kCannotJudge;
  }
  std::vector<Baseline> baselines;
  if (args.baselines) {
    progress.Enter("computing the baselines");
    baselines = ComputeBaselines(plan, options.round_cost_ns);
    progress.Leave();
  }
  // A trace on standard output leaves no room for text there.
  if (args.trace == "-") return ExitCode::kYes;
  const SimCase sim{plan, options, result, !args.topo.empty(),
                    args.baselines ? &baselines : nullptr};
  if (args.json) {
    PrintSimulationJson(sim, out);
    return ExitCode::kYes;
  }
  std::ostringstream text;
  PrintSimulation(sim, text);
  WriteEscaped(text.str(), out);
  return ExitCode::kYes;
}

}  // namespace reshard
