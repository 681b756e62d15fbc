#include "compiler/cli/import_dcp_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/import/import_dcp.h"
#include "compiler/layout/limits.h"

namespace reshard {

void DeclareImportDcp(CLI::App* app, ImportDcpArgs* args) {
  app->add_option("file", args->file, "the checkpoint's metadata as JSON, with ranks")->required();
  app->add_option("-o,--output", args->output, "layout to write, '-' for standard output")
      ->required();
  app->add_option("--side", args->side, "which side the ranks are on")
      ->check(CLI::IsMember({"source", "destination"}))
      ->capture_default_str();
  app->add_option("--rank-base", args->rank_base, "rank in the plan of the file's rank 0")
      ->check(CLI::Range(int64_t{0}, kMaxMeshRanks))
      ->capture_default_str();
}

bool RunImportDcp(const ImportDcpArgs& args, ImportRun* run) {
  const std::optional<JsonNode> root = ReadJsonFile(args.file, run);
  JsonDoc layout = JsonDoc::Object();
  if (!root || !ImportDcp(*root, {args.side == "source", args.rank_base}, &run->diags, &layout)) {
    return false;
  }
  return WriteDocFile(args.output, layout, run) &&
         CheckWrittenLayouts({{args.output, layout}}, run);
}

}  // namespace reshard
