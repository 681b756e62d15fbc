// reshardc: parses the command line and runs one command.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "compiler/cli/check_command.h"
#include "compiler/cli/command_reference.h"
#include "compiler/cli/compile_command.h"
#include "compiler/cli/diff_command.h"
#include "compiler/cli/exit_code.h"
#include "compiler/cli/explain_command.h"
#include "compiler/cli/file_system.h"
#include "compiler/cli/import_command.h"
#include "compiler/cli/report_command.h"
#include "compiler/cli/show_command.h"
#include "compiler/cli/simulate_command.h"
#include "compiler/cli/terminal.h"
#include "compiler/cli/verify_command.h"
#include "compiler/cli/version.h"
#include "compiler/diag/diagnostics.h"
#include "runtime/plan/plan.h"

namespace reshard {
namespace {

constexpr std::array<std::string_view, 11> kCommands = {
    "compile", "check",  "show",   "verify",     "simulate", "diff",
    "explain", "import", "report", "completion", "man"};

// Lines of "Examples" below the help of their command; the first of each also stand below that of
// the program.
struct Example {
  std::string_view command, line, what;
  bool main = true;
};
constexpr Example kExamples[] = {
    {"compile", "reshardc train.json infer.json topo.json -o plan.fb", "compile a plan"},
    {"compile", "reshardc A.json B.json topo.json -o plan.fb -v", "with all candidates", false},
    {"compile", "reshardc A.json B.json topo.json -o plan.fb --max-staging 256MiB", "", false},
    {"check", "reshardc check train.json infer.json", "what each rank stores"},
    {"check", "reshardc check infer.json --against recorded.json", "where two layouts differ",
     false},
    {"show", "reshardc show plan.fb", "loads, classes, routes"},
    {"show", "reshardc show plan.fb --rank 12", "the program of a rank"},
    {"show", "reshardc show plan.fb --tensor model.norm.weight", "where it comes from and goes"},
    {"show", "reshardc show plan.fb --ranks --rows 0", "a row for every rank", false},
    {"show", "reshardc show plan.fb --dot domains | dot -Tsvg", "who sends to whom", false},
    {"show", "reshardc show plan.fb --canonical", "all that it says, for git diff", false},
    {"verify", "reshardc verify plan.fb --inputs train.json infer.json topo.json", ""},
    {"verify", "reshardc verify plan.fb", "by its own tables alone", false},
    {"simulate", "reshardc simulate plan.fb --trace trace.json",
     "how long it takes, event by event"},
    {"simulate", "reshardc simulate plan.fb --baselines", "against other ways to do it", false},
    {"diff", "reshardc diff old.fb new.fb --fail-if 'time>+5%,coverage'", ""},
    {"diff", "reshardc diff old.fb new.fb --only figures,tensors", "some sections", false},
    {"diff", "reshardc diff old.fb new.fb --format markdown", "for a pull request", false},
    {"explain", "reshardc explain plan.fb --rank 37 --param w --at 0,3",
     "from which rank, on which way, when"},
    {"explain", "reshardc explain plan.fb --rank 0 --param w --source", "where it goes", false},
    {"explain", "reshardc explain plan.fb --edge 0 16", "what one rank sends another", false},
    {"import", "reshardc import m2n --model model.json --system system.json -o job", ""},
    {"import", "reshardc import safetensors MODEL --parallel parallel.json -o job", "", false},
    {"report", "reshardc report plan.fb -o report.html", "all of it as one page"},
    {"report", "reshardc report old.fb new.fb -o report.html", "what differs as one page", false},
    {"completion", "reshardc completion bash > ~/.local/share/bash-completion/completions/reshardc",
     "", false},
    {"completion", "reshardc completion zsh > ~/.zfunc/_reshardc", "", false},
    {"man", "reshardc man | man -l -", "read it", false},
};

constexpr std::string_view kExitStatus =
    "Exit status: 0 yes or done; 1 the answer is no; 2 usage, or input that cannot be judged; 3 "
    "our bug.";

// What stands below the help of a command; below that of the program when it is empty.
std::string Footer(std::string_view command) {
  constexpr size_t kColumns = 55;
  std::string text = "Examples:\n";
  for (const Example& example : kExamples) {
    if (command.empty() ? !example.main : example.command != command) continue;
    std::string line = "  " + std::string(example.line);
    if (!example.what.empty()) {
      line += std::string(line.size() + 2 < kColumns ? kColumns - line.size() : 2, ' ');
      line += example.what;
    }
    text += line + "\n";
  }
  return text + "\n" + std::string(kExitStatus);
}

// Whether all that was printed has arrived; says so otherwise.
bool FlushOutput() {
  std::cout.flush();
  if (std::cout) return true;
  std::cerr << "reshardc: error: cannot write to standard output [cannot-write]\n";
  return false;
}

// What the command line asked for.
struct Request {
  CompileArgs compile;
  CheckArgs check;
  ShowArgs show;
  VerifyArgs verify;
  SimulateArgs simulate;
  DiffArgs diff;
  ExplainArgs explain;
  ImportArgs import;
  ReportArgs report;
  CompletionArgs completion;
  TerminalArgs terminal;
};

// The streams that a command writes to.
struct Streams {
  std::unique_ptr<std::ostream> painted_out, painted_err;
  std::ostream silent{nullptr};
  std::ostream* out = &std::cout;
  std::ostream* err = &std::cerr;
};

// Whether the result is for programs: it is never painted, also where somebody looks at it.
bool IsForPrograms(const Request& request) {
  const ShowArgs& show = request.show;
  return show.style.format != OutputFormat::kText || show.canonical || show.points || show.steps ||
         !show.dot.empty() || request.diff.style.format != OutputFormat::kText ||
         request.explain.style.format != OutputFormat::kText || request.compile.json ||
         request.compile.dump_after || request.check.json || request.verify.json ||
         request.simulate.json;
}

// Sets up what the terminal and its options say.
void Apply(const TerminalArgs& args, Request* request, Streams* streams) {
  const Terminal terminal = DecideTerminal(args, AskTerminal());
  for (TextStyle* style : {&request->show.style, &request->diff.style, &request->explain.style}) {
    style->width = terminal.width;
  }
  for (bool* quiet : {&request->compile.quiet, &request->verify.quiet, &request->simulate.quiet,
                      &request->report.quiet}) {
    *quiet = args.quiet;
  }
  const bool paint_out = terminal.color_out && !IsForPrograms(*request);
  if (paint_out) streams->painted_out = PaintLines(std::cout, true);
  if (terminal.color_err) streams->painted_err = PaintLines(std::cerr, false);
  if (streams->painted_out) streams->out = streams->painted_out.get();
  if (streams->painted_err) streams->err = streams->painted_err.get();
  if (args.quiet) streams->out = &streams->silent;
}

// `reshardc A B T` is `reshardc compile A B T`. A file called like a command is written ./show.
std::vector<std::string> WithCommand(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  bool named = words.empty();
  for (const std::string& word : words) {
    if (word == "-h" || word == "--help" || word == "--version") named = true;
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
  app.footer(Footer(""));
  app.set_version_flag(
      "--version",
      std::string("reshardc ") + kProgramVersion + ", plan format " + std::to_string(kPlanVersion),
      "print the version, and that of the plans that are written");
  Request request;
  RealFileSystem files;
  std::function<ExitCode()> run;
  Streams io;
  const auto add = [&](std::string_view name, const char* help, std::function<ExitCode()> command) {
    CLI::App* sub = app.add_subcommand(std::string(name), help);
    sub->footer(Footer(name));  // also of those below it
    sub->final_callback([&run, command] { run = command; });
    if (name != "completion" && name != "man") DeclareTerminal(sub, &request.terminal);
    return sub;
  };
  DeclareCompile(add(kCommands[0], "make a plan (also without this word)",
                     [&] { return RunCompile(request.compile, files, *io.out, *io.err); }),
                 &request.compile);
  DeclareCheck(add(kCommands[1], "say what each rank of a layout stores",
                   [&] { return RunCheck(request.check, files, *io.out, *io.err); }),
               &request.check);
  DeclareShow(add(kCommands[2], "show a plan, a rank's program or a tensor's ways",
                  [&] { return RunShow(request.show, files, *io.out, *io.err); }),
              &request.show);
  DeclareVerify(add(kCommands[3], "prove a plan right",
                    [&] { return RunVerify(request.verify, files, *io.out, *io.err); }),
                &request.verify);
  DeclareSimulate(add(kCommands[4], "say how long a plan takes, event by event",
                      [&] { return RunSimulate(request.simulate, files, *io.out, *io.err); }),
                  &request.simulate);
  DeclareDiff(add(kCommands[5], "say in what two plans differ",
                  [&] { return RunDiff(request.diff, files, *io.out, *io.err); }),
              &request.diff);
  DeclareExplain(add(kCommands[6], "say where an element comes from, or what passes a NIC",
                     [&] { return RunExplain(request.explain, files, *io.out, *io.err); }),
                 &request.explain);
  DeclareImport(add(kCommands[7], "make layouts and topologies from files of other systems",
                    [&] { return RunImport(request.import, files, *io.out, *io.err); }),
                &request.import);
  DeclareReport(add(kCommands[8], "make an HTML page of a plan, or of what two plans differ in",
                    [&] { return RunReport(request.report, files, *io.out, *io.err); }),
                &request.report);
  DeclareCompletion(add(kCommands[9], "print what completes commands in bash or zsh",
                        [&] { return RunCompletion(app, request.completion, std::cout); }),
                    &request.completion);
  add(kCommands[10], "print the manual page", [&] { return RunMan(app, std::cout); });

  std::vector<std::string> words = WithCommand(argc, argv);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    if (status != 0 && argc > 1 && words[0] != argv[1]) HintAtCommand(argv[1]);
    const bool answered = status == 0 && FlushOutput();
    return static_cast<int>(answered ? ExitCode::kYes : ExitCode::kCannotJudge);
  }
  Apply(request.terminal, &request, &io);
  const ExitCode code = run();
  io.painted_out.reset();
  io.painted_err.reset();
  return static_cast<int>(FlushOutput() ? code : ExitCode::kCannotJudge);
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
