#include "compiler/cli/import_files.h"

#include <span>
#include <utility>

#include "compiler/cli/read_input.h"
#include "compiler/layout/rank_summary.h"
#include "compiler/pipeline.h"

namespace reshard {
namespace {

// A file that was written, as an input.
InputFile AsInput(const std::string& path, const JsonDoc& doc) {
  return {path == "-" ? "<stdout>" : ShownPath(path), PrintDoc(doc)};
}

}  // namespace

std::optional<uint32_t> ReadTextFile(const std::string& path, ImportRun* run) {
  std::optional<InputFile> file = ReadInput(path, run->files, run->err);
  if (!file) return std::nullopt;
  return run->sources.Add(std::move(file->path), std::move(file->text));
}

std::optional<JsonNode> ReadJsonFile(const std::string& path, ImportRun* run) {
  const std::optional<uint32_t> number = ReadTextFile(path, run);
  JsonNode root;
  if (!number || !ReadJson(run->sources, *number, &run->diags, &root)) return std::nullopt;
  return root;
}

bool WriteDocFile(const std::string& path, const JsonDoc& doc, ImportRun* run) {
  const std::string text = PrintDoc(doc);
  const Status written =
      run->files.Write(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  if (written.ok()) return true;
  run->err << ShownOutput(path) << ": error: " << written.message() << " [cannot-write]\n";
  return false;
}

bool CheckWrittenLayouts(const std::vector<std::pair<std::string, JsonDoc>>& layouts,
                         ImportRun* run) {
  std::vector<InputFile> files;
  for (const auto& [path, doc] : layouts) {
    files.push_back(AsInput(path, doc));
  }
  std::vector<LayoutSpec> specs;
  if (!ReadLayouts(std::move(files), &run->diags, &run->sources, &specs)) return false;
  const LayoutSpec* source = nullptr;
  const LayoutSpec* destination = nullptr;
  for (const LayoutSpec& spec : specs) {
    (spec.side == Side::kSource ? source : destination) = &spec;
  }
  ResolvedLayouts resolved;
  if (!ResolveLayouts(source, destination, &run->diags, &resolved)) return false;
  int64_t tensors = 0;
  for (const SuperTensor& super : resolved.table.supers) tensors += super.tensor_count();
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool is_source = specs[i].side == Side::kSource;
    const std::vector<RankStorage> ranks =
        SummarizeRanks(is_source ? resolved.source : resolved.destination);
    WrittenFile file = {layouts[i].first,
                        is_source ? "source" : "destination",
                        static_cast<int64_t>(ranks.size()),
                        tensors,
                        0,
                        0};
    for (const RankStorage& rank : ranks) {
      file.params += rank.params;
      file.bytes += rank.bytes;
    }
    run->written.push_back(std::move(file));
  }
  return true;
}

bool WriteLayoutFile(const std::string& path, const JsonDoc& doc, ImportRun* run) {
  return WriteDocFile(path, doc, run) && CheckWrittenLayouts({{path, doc}}, run);
}

bool WriteTopologyFile(const std::string& path, const JsonDoc& doc, ImportRun* run) {
  Topology read_again;
  if (!WriteDocFile(path, doc, run) ||
      !ReadTopology(AsInput(path, doc), &run->diags, &run->sources, &read_again)) {
    return false;
  }
  run->written.push_back({path, "topology", 0, 0, 0, 0});
  return true;
}

}  // namespace reshard
