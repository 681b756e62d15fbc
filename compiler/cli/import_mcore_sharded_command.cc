#include "compiler/cli/import_mcore_sharded_command.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/layout/limits.h"

namespace reshard {

void DeclareImportMcoreSharded(CLI::App* app, ImportMcoreShardedArgs* args) {
  app->add_option("file", args->file, "what export_mcore_sharded returned, as JSON")->required();
  app->add_option("--shapes", args->shapes,
                  "the checkpoint as {name: {shape, dtype}}, for files without 'tensors'");
  app->add_option("-o,--output", args->output, "layout to write, '-' for standard output")
      ->required();
  DeclareSide(app, &args->side);
  app->add_option("--max-pieces", args->max_pieces, "boxes to read")
      ->check(CLI::Range(int64_t{1}, kMaxPieces))
      ->capture_default_str();
}

bool RunImportMcoreSharded(const ImportMcoreShardedArgs& args, ImportRun* run) {
  const std::optional<JsonNode> root = ReadJsonFile(args.file, run);
  std::optional<JsonNode> shapes;
  if (!args.shapes.empty()) {
    shapes = ReadJsonFile(args.shapes, run);
    if (!shapes) return false;
  }
  const McoreOptions options = {SideOf(args.side), args.max_pieces};
  JsonDoc layout = JsonDoc::Object();
  if (!root ||
      !ImportMcoreSharded(*root, shapes ? &*shapes : nullptr, options, &run->diags, &layout)) {
    return false;
  }
  return WriteLayoutFile(args.output, layout, run);
}

}  // namespace reshard
