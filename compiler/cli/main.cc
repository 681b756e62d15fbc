// reshardc: parses the command line and runs one command.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>

#include "compiler/cli/check_command.h"
#include "compiler/cli/compile_command.h"
#include "compiler/cli/exit_code.h"
#include "compiler/cli/file_system.h"
#include "compiler/cli/verify_command.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// An option that is a size with a unit.
CLI::Option* AddBytes(CLI::App* app, const std::string& name, int64_t* bytes,
                      const std::string& help) {
  return app->add_option_function<std::string>(
      name,
      [name, bytes](const std::string& text) {
        const std::optional<int64_t> parsed = ParseBytes(text);
        if (!parsed.has_value()) {
          throw CLI::ValidationError(name, "'" + text + "' is no size such as 64MiB");
        }
        *bytes = *parsed;
      },
      help);
}

int Run(int argc, char** argv) {
  CLI::App app{
      "Compiles where a model's weights are, where they must be and what connects them into a "
      "transfer plan."};
  app.name("reshardc");
  app.require_subcommand(1);
  RealFileSystem files;

  CompileArgs compile;
  CLI::App* compile_app =
      app.add_subcommand("compile", "make a plan from two layouts and a topology");
  compile_app->add_option("train", compile.train, "layout of the source ranks")->required();
  compile_app->add_option("infer", compile.infer, "layout of the destination ranks")->required();
  compile_app->add_option("topo", compile.topo, "topology")->required();
  compile_app->add_option("-o,--output", compile.output, "plan file to write");
  compile_app->add_option("--heads", compile.options.route.heads, "trees per stream, 0: chosen");
  AddBytes(compile_app, "--slice", &compile.options.schedule.slice_bytes, "largest slice");
  AddBytes(compile_app, "--max-staging", &compile.options.schedule.max_staging_bytes,
           "staging limit per rank");
  compile_app->add_flag("--strict-memory", compile.options.strict_memory,
                        "exceeding mem_gb is an error");

  CheckArgs check;
  CLI::App* check_app = app.add_subcommand("check", "say what each rank of a layout stores");
  check_app->add_option("layouts", check.layouts, "a layout, or a source and a destination")
      ->required()
      ->expected(1, 2);
  check_app->add_flag("--ranks", check.ranks, "a line for every rank");
  check_app->add_flag("--json", check.json, "print one JSON object");

  VerifyArgs verify;
  CLI::App* verify_app = app.add_subcommand("verify", "prove a plan right");
  verify_app->add_option("plan", verify.plan, "plan file")->required();
  verify_app->add_option("--inputs", verify.inputs, "train, infer and topo to compare with")
      ->expected(3);
  verify_app->add_flag("--json", verify.json, "print one JSON object");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    return static_cast<int>(status == 0 ? ExitCode::kYes : ExitCode::kCannotJudge);
  }
  if (check_app->parsed()) {
    return static_cast<int>(RunCheck(check, files, std::cout, std::cerr));
  }
  if (verify_app->parsed()) {
    return static_cast<int>(RunVerify(verify, files, std::cout, std::cerr));
  }
  return static_cast<int>(RunCompile(compile, files, std::cout, std::cerr));
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
