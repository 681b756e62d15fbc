#include "compiler/cli/import_dtensor_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/import/import_dtensor.h"

namespace reshard {

void DeclareImportDtensor(CLI::App* app, ImportDtensorArgs* args) {
  app->add_option("file", args->file, "what export_dtensors returned, as JSON")->required();
  app->add_option("-o,--output", args->output, "layout to write, '-' for standard output")
      ->required();
  DeclareSide(app, &args->side);
}

bool RunImportDtensor(const ImportDtensorArgs& args, ImportRun* run) {
  const std::optional<JsonNode> root = ReadJsonFile(args.file, run);
  JsonDoc layout = JsonDoc::Object();
  if (!root || !ImportDtensor(*root, SideOf(args.side), &run->diags, &layout)) return false;
  return WriteLayoutFile(args.output, layout, run);
}

}  // namespace reshard
