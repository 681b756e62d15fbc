#include "compiler/cli/import_recorded_copies_command.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <utility>

#include "compiler/layout/limits.h"

namespace reshard {

void DeclareImportRecordedCopies(CLI::App* app, ImportRecordedCopiesArgs* args) {
  app->add_option("files", args->files, "what record_loader returned: one file per content")
      ->required();
  app->add_option("--shapes", args->shapes,
                  "the checkpoint as {name: {shape, dtype}}, for files without 'tensors'");
  app->add_option("-o,--output", args->output, "layout to write, '-' for standard output")
      ->required();
  app->add_option("--max-pieces", args->options.max_pieces, "boxes to read in all files")
      ->check(CLI::Range(int64_t{1}, kMaxPieces))
      ->capture_default_str();
}

bool RunImportRecordedCopies(const ImportRecordedCopiesArgs& args, ImportRun* run) {
  std::optional<JsonNode> shapes;
  if (!args.shapes.empty()) {
    shapes = ReadJsonFile(args.shapes, run);
    if (!shapes) return false;
  }
  const auto read = [&](size_t i, JsonNode* root) {
    std::optional<JsonNode> file = ReadJsonFile(args.files[i], run);
    if (file) *root = std::move(*file);
    return file.has_value();
  };
  JsonDoc layout = JsonDoc::Object();
  if (!ImportRecordedCopies(args.files.size(), read, shapes ? &*shapes : nullptr, args.options,
                            &run->diags, &layout)) {
    return false;
  }
  return WriteLayoutFile(args.output, layout, run);
}

}  // namespace reshard
