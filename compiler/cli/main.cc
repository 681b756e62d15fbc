// reshardc: parses the command line and runs one command.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/check_command.h"
#include "compiler/cli/compile_command.h"
#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/cli/show_command.h"
#include "compiler/cli/simulate_command.h"
#include "compiler/cli/verify_command.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 5> kCommands = {"compile", "check", "show", "verify",
                                                       "simulate"};

constexpr const char* kExamples = R"(Examples:
  reshardc train.json infer.json topo.json -o plan.fb    compile a plan
  reshardc check train.json infer.json                   what each rank stores
  reshardc show plan.fb                                  loads, classes, routes
  reshardc show plan.fb --rank 12                        the program of a rank
  reshardc show plan.fb --tensor model.norm.weight       where it comes from and goes
  reshardc verify plan.fb --inputs train.json infer.json topo.json
  reshardc simulate plan.fb --trace trace.json           how long it takes, event by event

Exit status: 0 yes or done; 1 the answer is no; 2 usage, or input that cannot be judged; 3 our bug.)";

// An option that is a size with a unit.
void AddBytes(CLI::App* app, const std::string& name, int64_t* bytes, const std::string& help) {
  app->add_option_function<std::string>(
         name,
         [name, bytes](const std::string& text) {
           const std::optional<int64_t> parsed = ParseBytes(text);
           if (!parsed || *parsed == 0) {
             throw CLI::ValidationError(name, "'" + text + "' is no size such as 64MiB");
           }
           *bytes = *parsed;
         },
         help + ", default " + FormatBinary(*bytes))
      ->type_name("SIZE");
}

// What the command line asked for.
struct Request {
  CompileArgs compile;
  CheckArgs check;
  ShowArgs show;
  VerifyArgs verify;
  SimulateArgs simulate;
};

void DeclareCompile(CLI::App* app, CompileArgs* args) {
  app->add_option("train", args->train, "layout of the source ranks")->required();
  app->add_option("infer", args->infer, "layout of the destination ranks")->required();
  app->add_option("topo", args->topo, "what connects the ranks")->required();
  app->add_option("-o,--output", args->output,
                  "plan file to write, '-' for standard output; without it nothing is written");
  AddBytes(app, "--slice", &args->options.schedule.slice_bytes, "largest slice of a stream");
  AddBytes(app, "--max-staging", &args->options.schedule.max_staging_bytes,
           "limit of staging memory per rank");
  app->add_option("--heads", args->options.route.heads, "trees per stream, 0: chosen")
      ->check(CLI::Range(0, 1024));
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
  app->add_option("--max-errors", args->max_errors, "errors to print, 0: all");
  app->add_flag("--json", args->json, "print the summary as one JSON object");
}

void DeclareCheck(CLI::App* app, CheckArgs* args) {
  app->add_option("layouts", args->layouts, "a layout, or a source and a destination")
      ->required()
      ->expected(1, 2);
  app->add_flag("--ranks", args->ranks, "a line for every rank");
  app->add_option("--max-errors", args->max_errors, "errors to print, 0: all");
  app->add_flag("--json", args->json, "print one JSON object");
}

void DeclareShow(CLI::App* app, ShowArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  CLI::Option* rank = app->add_option("--rank", args->rank, "the program of this rank");
  CLI::Option* tensor =
      app->add_option("--tensor", args->tensor, "where this tensor comes from and goes");
  CLI::Option* points = app->add_flag(
      "--points", args->points, "`expect` entries of the destination (of --rank), ready to paste");
  app->add_flag("--source-points", args->source_points, "with --points: of the source")
      ->needs(points);
  tensor->excludes(rank)->excludes(points);
  app->add_option("--rows", args->rows, "rows of each table, 0: all");
  app->add_flag("--json", args->json, "print one JSON object");
}

void DeclareVerify(CLI::App* app, VerifyArgs* args) {
  app->add_option("plan", args->plan, "plan file")->required();
  app->add_option("--inputs", args->inputs,
                  "TRAIN INFER TOPO: also derive every param anew from these and compare")
      ->expected(3);
  app->add_flag("--json", args->json, "print one JSON object");
}

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
           args->options.round_cost_ns = *parsed;
         },
         "what a rank's group of network operations costs, default " +
             FormatNanoseconds(args->options.round_cost_ns))
      ->type_name("TIME");
  app->add_option_function<std::string>(
         "--rounds",
         [args](const std::string& text) {
           if (!ParseRounds(text, &args->options)) {
             throw CLI::ValidationError("--rounds", "'" + text + "' is no range such as 0..99");
           }
         },
         "only these rounds; what comes before counts as done")
      ->type_name("A..B");
  app->add_option("--trace", args->trace, "trace for Chrome or Perfetto to write");
  app->add_flag("--json", args->json, "print one JSON object");
}

// `reshardc A B T` is `reshardc compile A B T`. A file called like a command is written ./show.
std::vector<std::string> WithCommand(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  bool named = words.empty();
  for (const std::string& word : words) {
    if (word == "-h" || word == "--help" || word == "--help-all") named = true;
    if (!word.empty() && word[0] == '-' && word != "-") continue;
    for (const std::string_view command : kCommands) named = named || word == command;
    break;
  }
  if (!named) words.insert(words.begin(), "compile");
  return words;
}

// After a usage error: a misspelled command was taken for the first file of `compile`.
void HintAtCommand(const std::string& word) {
  const std::string hint = DidYouMean(word, {kCommands.begin(), kCommands.end()});
  if (hint.empty()) return;
  std::cerr << "'" << EscapeForTerminal(word) << "' was taken for a file" << hint << "\n";
}

int Run(int argc, char** argv) {
  CLI::App app{
      "Compiles where a model's weights are, where they must be and what connects them into a\n"
      "transfer plan, and shows and proves such plans.",
      "reshardc"};
  app.require_subcommand(1);
  app.footer(kExamples);
  Request request;
  RealFileSystem files;
  std::function<ExitCode()> run;
  const auto add = [&](std::string_view name, const char* help, std::function<ExitCode()> command) {
    CLI::App* sub = app.add_subcommand(std::string(name), help);
    sub->final_callback([&run, command] { run = command; });
    return sub;
  };
  DeclareCompile(add(kCommands[0], "make a plan (also without this word)",
                     [&] { return RunCompile(request.compile, files, std::cout, std::cerr); }),
                 &request.compile);
  DeclareCheck(add(kCommands[1], "say what each rank of a layout stores",
                   [&] { return RunCheck(request.check, files, std::cout, std::cerr); }),
               &request.check);
  DeclareShow(add(kCommands[2], "show a plan, a rank's program or a tensor's ways",
                  [&] { return RunShow(request.show, files, std::cout, std::cerr); }),
              &request.show);
  DeclareVerify(add(kCommands[3], "prove a plan right",
                    [&] { return RunVerify(request.verify, files, std::cout, std::cerr); }),
                &request.verify);
  DeclareSimulate(add(kCommands[4], "say how long a plan takes, event by event",
                      [&] { return RunSimulate(request.simulate, files, std::cout, std::cerr); }),
                  &request.simulate);

  std::vector<std::string> words = WithCommand(argc, argv);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    if (status != 0 && argc > 1 && words[0] != argv[1]) HintAtCommand(argv[1]);
    return static_cast<int>(status == 0 ? ExitCode::kYes : ExitCode::kCannotJudge);
  }
  const ExitCode code = run();
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "reshardc: error: cannot write to standard output [cannot-write]\n";
    return static_cast<int>(ExitCode::kCannotJudge);
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace reshard

int main(int argc, char** argv) {
  try {
    return reshard::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reshardc: internal error: %s\n", error.what());
    return static_cast<int>(reshard::ExitCode::kOurBug);
  }
}
