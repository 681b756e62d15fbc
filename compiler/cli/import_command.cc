#include "compiler/cli/import_command.h"

#include <CLI/CLI.hpp>
#include <string>

namespace reshard {
namespace {

// Declares the format `name`, whose arguments are `format`.
template <typename Args>
void AddFormat(CLI::App* app, ImportArgs* args, const char* name, const char* help,
               void (*declare)(CLI::App*, Args*), bool (*run)(const Args&, ImportRun*),
               Args* format) {
  CLI::App* sub = app->add_subcommand(name, help);
  sub->fallthrough();  // to options of all formats
  declare(sub, format);
  sub->add_option("--max-errors", args->max_errors, "errors to print, 0: all")
      ->check(CLI::Range(size_t{0}, kLargestMaxErrors));
  sub->final_callback([=] { args->run = [=](ImportRun* made) { return run(*format, made); }; });
}

}  // namespace

void DeclareImport(CLI::App* app, ImportArgs* args) {
  app->require_subcommand(1);
  AddFormat(app, args, "m2n", "NCCL M2N's benchmark: a model file and a system file",
            &DeclareImportM2n, &RunImportM2n, &args->m2n);
  AddFormat(app, args, "safetensors", "a Hugging Face model and how a job distributes it",
            &DeclareImportSafetensors, &RunImportSafetensors, &args->safetensors);
}

ExitCode RunImport(const ImportArgs& args, FileSystem& files, std::ostream& out,
                   std::ostream& err) {
  ImportRun run{files, out, err, {}, {}};
  const bool ok = args.run(&run);
  run.diags.Print(run.sources, args.max_errors, err);
  if (ok) return ExitCode::kYes;
  return run.diags.has_errors() ? ExitCodeFor(run.diags) : ExitCode::kCannotJudge;
}

}  // namespace reshard
