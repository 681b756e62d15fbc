#include "compiler/cli/import_command.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/cli/read_input.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/units.h"

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
  sub->add_flag("--json", args->json, "print one JSON object");
  sub->final_callback([=] { args->run = [=](ImportRun* made) { return run(*format, made); }; });
}

void PrintText(const std::vector<WrittenFile>& files, std::ostream& out) {
  for (const WrittenFile& file : files) {
    out << ShownPath(file.path) << ": " << file.kind;
    if (file.ranks > 0) {
      out << ", " << FormatCount(file.ranks) << " ranks, " << FormatCount(file.tensors)
          << " tensors in " << FormatCount(file.params) << " params of " << FormatBytes(file.bytes);
    }
    out << "\n";
  }
}

void PrintJson(const std::vector<WrittenFile>& files, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-import/1");
  json.BeginArray("files");
  for (const WrittenFile& file : files) {
    json.BeginObject();
    json.Field("path", file.path);
    json.Field("kind", file.kind);
    if (file.ranks > 0) {
      json.Field("ranks", file.ranks);
      json.Field("tensors", file.tensors);
      json.Field("params", file.params);
      json.Field("bytes", file.bytes);
    }
    json.End();
  }
  json.End();
  json.End();
  out << json.Text() << "\n";
}

}  // namespace

void DeclareImport(CLI::App* app, ImportArgs* args) {
  app->require_subcommand(1);
  AddFormat(app, args, "m2n", "NCCL M2N's benchmark: a model file and a system file",
            &DeclareImportM2n, &RunImportM2n, &args->m2n);
  AddFormat(app, args, "safetensors", "a Hugging Face model and how a job distributes it",
            &DeclareImportSafetensors, &RunImportSafetensors, &args->safetensors);
  AddFormat(app, args, "dtensor", "DTensors of a PyTorch job, as the Python package exports them",
            &DeclareImportDtensor, &RunImportDtensor, &args->dtensor);
  AddFormat(app, args, "mcore-sharded",
            "Megatron-Core's sharded state, as the Python package exports it",
            &DeclareImportMcoreSharded, &RunImportMcoreSharded, &args->mcore_sharded);
  AddFormat(app, args, "dcp", "what the ranks of a job saved as a distributed checkpoint",
            &DeclareImportDcp, &RunImportDcp, &args->dcp);
  AddFormat(app, args, "recorded-copies", "the copies that an engine's weight loader made",
            &DeclareImportRecordedCopies, &RunImportRecordedCopies, &args->recorded_copies);
  AddFormat(app, args, "nccl-xml", "a topology from NCCL_TOPO_DUMP_FILE of hosts and a rank file",
            &DeclareImportNcclXml, &RunImportNcclXml, &args->nccl_xml);
  AddFormat(app, args, "nvidia-smi-topo", "a topology from `nvidia-smi topo -m` and a rank file",
            &DeclareImportSmiTopo, &RunImportSmiTopo, &args->smi_topo);
  AddFormat(app, args, "slurm", "a topology from Slurm's topology.conf and a rank file",
            &DeclareImportSlurm, &RunImportSlurm, &args->slurm);
}

ExitCode RunImport(const ImportArgs& args, FileSystem& files, std::ostream& out,
                   std::ostream& err) {
  ImportRun run{files, err, {}, {}, {}};
  const bool ok = args.run(&run);
  run.diags.Print(run.sources, args.max_errors, err);
  if (ok) {
    // Where the document itself goes to standard output, nothing else does.
    std::erase_if(run.written, [](const WrittenFile& file) { return file.path == "-"; });
    if (run.written.empty()) return ExitCode::kYes;
    (args.json ? PrintJson : PrintText)(run.written, out);
    return ExitCode::kYes;
  }
  return run.diags.has_errors() ? ExitCodeFor(run.diags) : ExitCode::kCannotJudge;
}

}  // namespace reshard
