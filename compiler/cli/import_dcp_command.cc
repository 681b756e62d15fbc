#include "compiler/cli/import_dcp_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/import/import_dcp.h"

namespace reshard {

void DeclareImportDcp(CLI::App* app, ImportDcpArgs* args) {
  app->add_option("file", args->file, "the checkpoint's metadata as JSON, with ranks")->required();
  app->add_option("-o,--output", args->output, "layout to write, '-' for standard output")
      ->required();
  DeclareSide(app, &args->side);
}

bool RunImportDcp(const ImportDcpArgs& args, ImportRun* run) {
  const std::optional<JsonNode> root = ReadJsonFile(args.file, run);
  JsonDoc layout = JsonDoc::Object();
  if (!root || !ImportDcp(*root, SideOf(args.side), &run->diags, &layout)) return false;
  return WriteLayoutFile(args.output, layout, run);
}

}  // namespace reshard
