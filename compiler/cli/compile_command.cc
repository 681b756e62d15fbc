#include "compiler/cli/compile_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cli/progress.h"
#include "compiler/cli/read_input.h"
#include "compiler/cli/write_escaped.h"
#include "compiler/dump_stage.h"
#include "compiler/frontend/number_list.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/summary.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

constexpr uint32_t kLargestMaxPeers = 1U << 20;
constexpr int64_t kLeastRoundCostNs = 1'000;
constexpr int64_t kMostRoundCostNs = 1'000'000'000;

// A line for each schedule that was made to choose from; with heads given there was no choice.
void PrintCandidates(const std::vector<Candidate>& candidates, std::ostream& out) {
  TextTable table({"", "trees", ">heads", ">depth", ">rounds", ">simulated", ">/ bound", ">balance",
                   ">predicted", ">peers", ">injects", ">staging"});
  for (const Candidate& c : candidates) {
    const auto per_bound = [&c](int64_t ns) {
      if (c.bound_ns == 0) return std::string("-");
      return FormatRatio(static_cast<double>(ns) / static_cast<double>(c.bound_ns));
    };
    table.Add({c.kept ? "kept" : "", std::string(CandidateKindText(c.kind)),
               std::to_string(c.heads), std::to_string(c.depth), FormatCount(c.rounds),
               (c.simulated_whole ? "" : "~") + FormatNanoseconds(c.simulated_ns),
               per_bound(c.simulated_ns), per_bound(c.busiest_port_ns),
               FormatNanoseconds(c.predicted_ns), FormatCount(c.peers), FormatCount(c.injects),
               FormatBinary(c.staging_bytes)});
  }
  table.Print({OutputFormat::kText, 0, 0}, out);
}

// An option that is a size with a unit; its default may be 0, which `zero` explains.
void AddBytes(CLI::App* app, const std::string& name, int64_t* bytes, const std::string& help,
              const std::string& zero = "") {
  app->add_option_function<std::string>(
         name,
         [name, bytes](const std::string& text) {
           const std::optional<int64_t> parsed = ParseBytes(text);
           if (!parsed || *parsed == 0) {
             throw CLI::ValidationError(name, "'" + text + "' is no size such as 64MiB");
           }
           *bytes = *parsed;
         },
         help + ", default " + (*bytes == 0 ? zero : FormatBinary(*bytes)))
      ->type_name("SIZE");
}

void AddRoundCost(CLI::App* app, int64_t* round_cost_ns) {
  app->add_option_function<std::string>(
         "--round-cost",
         [round_cost_ns](const std::string& text) {
           const std::optional<int64_t> parsed = ParseNanoseconds(text);
           if (!parsed || *parsed < kLeastRoundCostNs || *parsed > kMostRoundCostNs) {
             throw CLI::ValidationError("--round-cost",
                                        "'" + text + "' is no time such as 20us, from 1us to 1s");
           }
           *round_cost_ns = *parsed;
         },
         "what a round of messages costs, launch and barrier, default " +
             FormatNanoseconds(*round_cost_ns))
      ->type_name("TIME");
}

void AddStrategy(CLI::App* app, RouteOptions* route) {
  app->add_option_function<std::string>(
         "--strategy",
         [route](const std::string& text) {
           route->strategy = ParseStrategy(text).value_or(Strategy::kAuto);
         },
         "which trees to take, default auto")
      ->check(
          CLI::IsMember(std::vector<std::string>(kStrategyTexts.begin(), kStrategyTexts.end())));
  app->add_option("--heads", route->heads, "chains per stream, 0: chosen")
      ->check(CLI::Range(0, 1024));
}

// "12,14-15" as rising ranks.
RankList ParseRankList(const std::string& text) {
  ListBudget budget;
  Diagnostics diags;
  RankList ranks;
  if (!ExpandNumberList(text, Span{}, UINT32_MAX, &budget, &diags, &ranks)) {
    throw CLI::ValidationError("--exclude-ranks", "'" + text + "' is no list such as 12,14-15");
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

void DeclareCompile(CLI::App* app, CompileArgs* args) {
  app->add_option("train", args->train, "layout of the source ranks")->required();
  app->add_option("infer", args->infer, "layout of the destination ranks")->required();
  app->add_option("topo", args->topo, "what connects the ranks")->required();
  app->add_option("-o,--output", args->output,
                  "plan file to write, '-' for standard output; without it nothing is written");
  AddBytes(app, "--slice", &args->options.schedule.slice_bytes, "largest slice of a stream",
           "as large as --max-staging allows");
  AddBytes(app, "--max-staging", &args->options.schedule.max_staging_bytes,
           "limit of staging memory per rank");
  AddRoundCost(app, &args->options.round_cost_ns);
  app->add_option("--max-peers", args->options.max_peers,
                  "limit of ranks that a rank exchanges messages with, 0: any number")
      ->check(CLI::Range(uint32_t{0}, kLargestMaxPeers));
  AddStrategy(app, &args->options.route);
  app->add_option_function<std::string>(
         "--exclude-ranks",
         [args](const std::string& text) { args->options.exclude_ranks = ParseRankList(text); },
         "compile for the other ranks, as 12,14-15")
      ->type_name("LIST");
  app->add_flag("--strict-memory", args->options.strict_memory,
                "params and staging above mem_gb are an error, not a warning");
  app->add_option_function<std::string>(
         "--dump-after",
         [args](const std::string& text) {
           args->dump_after = ParseStage(text);
           if (!args->dump_after) {
             throw CLI::ValidationError("--dump-after", "'" + text + "' is no stage");
           }
         },
         "print the result of a stage and stop: spec layout transfers routing schedule")
      ->type_name("STAGE");
  app->add_option("--max-errors", args->max_errors, "errors to print, 0: all")
      ->check(CLI::Range(size_t{0}, kLargestMaxErrors));
  app->add_flag("--json", args->json, "print the summary as one JSON object");
  app->add_flag("-v,--verbose", args->verbose, "also print the candidates that were scheduled");
}

ExitCode RunCompile(const CompileArgs& args, FileSystem& files, std::ostream& out,
                    std::ostream& err) {
  const RouteOptions& route = args.options.route;
  if (route.heads != 0 && route.strategy != Strategy::kAuto &&
      route.strategy != Strategy::kChains) {
    err << "--heads counts chains, and --strategy " << StrategyText(route.strategy)
        << " has none\n";
    return ExitCode::kCannotJudge;
  }
  std::optional<InputFile> train = ReadInput(args.train, files, err);
  std::optional<InputFile> infer = ReadInput(args.infer, files, err);
  std::optional<InputFile> topo = ReadInput(args.topo, files, err);
  if (!train || !infer || !topo) return ExitCode::kCannotJudge;
  if (!MayWrite(args.output, files, err)) return ExitCode::kCannotJudge;

  Diagnostics diags;
  Compilation compilation;
  Progress progress(err, args.quiet);
  const bool ok = Compile(
      *std::move(train), *std::move(infer), *std::move(topo), args.options,
      args.dump_after.value_or(Stage::kPlan), &diags,
      [&](Stage stage) { progress.Enter(StageText(stage)); }, &compilation);
  progress.Leave();
  diags.Print(compilation.sources, args.max_errors, err);
  if (!ok) return ExitCodeFor(diags);

  if (args.dump_after && *args.dump_after != Stage::kPlan) {
    std::ostringstream dump;
    DumpStage(compilation, *args.dump_after, dump);
    WriteEscaped(dump.str(), out);
    return ExitCode::kYes;
  }
  if (!args.output.empty()) {
    const Status written = files.Write(args.output, compilation.bytes);
    if (!written.ok()) {
      err << ShownOutput(args.output) << ": error: " << written.message() << " [cannot-write]\n";
      return ExitCode::kCannotJudge;
    }
  }
  if (args.quiet) return ExitCode::kYes;
  // A plan on standard output leaves no room for text there.
  std::ostream& report = args.output == "-" ? err : out;
  const int64_t plan_bytes = static_cast<int64_t>(compilation.bytes.size());
  const PlanSummary summary = Summarize(compilation.plan);
  std::ostringstream text;
  if (args.json) {
    JsonWriter json;
    json.BeginObject();
    json.Field("schema", "reshardc-compile/1");
    WriteSummary(compilation.plan, summary, plan_bytes, &json);
    json.End();
    text << json.Text() << "\n";
  } else {
    PrintSummary(compilation.plan, summary, plan_bytes, {}, text);
  }
  WriteEscaped(text.str(), report);
  if (args.verbose && !compilation.candidates.empty()) {
    PrintCandidates(compilation.candidates, err);
  }
  return ExitCode::kYes;
}

}  // namespace reshard
