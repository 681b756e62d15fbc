#include "compiler/cli/import_files.h"

#include <span>
#include <utility>

#include "compiler/cli/read_input.h"

namespace reshard {

std::optional<JsonNode> ReadJsonFile(const std::string& path, ImportRun* run) {
  std::optional<InputFile> file = ReadInput(path, run->files, run->err);
  if (!file) return std::nullopt;
  const uint32_t number = run->sources.Add(std::move(file->path), std::move(file->text));
  JsonNode root;
  if (!ReadJson(run->sources, number, &run->diags, &root)) return std::nullopt;
  return root;
}

bool WriteDocFile(const std::string& path, const JsonDoc& doc, const std::string& what,
                  ImportRun* run) {
  const std::string text = PrintDoc(doc);
  const Status written =
      run->files.Write(path, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  if (!written.ok()) {
    run->err << ShownPath(path) << ": error: " << written.message() << " [cannot-write]\n";
    return false;
  }
  if (path != "-") run->out << ShownPath(path) << ": " << what << "\n";
  return true;
}

}  // namespace reshard
