#include "compiler/cli/read_input.h"

#include <span>
#include <utility>

#include "compiler/frontend/json_node.h"

namespace reshard {

std::string ShownPath(const std::string& path) {
  return path == "-" ? "<stdin>" : EscapeForTerminal(path);
}

std::string ShownOutput(const std::string& path) {
  return path == "-" ? "<stdout>" : EscapeForTerminal(path);
}

std::optional<InputFile> ReadInput(const std::string& path, FileSystem& files, std::ostream& err) {
  StatusOr<std::string> text = files.Read(path, kMaxJsonBytes);
  if (!text.ok()) {
    err << ShownPath(path) << ": error: " << text.status().message() << " [cannot-read]\n";
    return std::nullopt;
  }
  return InputFile{ShownPath(path), *std::move(text)};
}

bool MayWrite(const std::string& path, const FileSystem& files, std::ostream& err) {
  const Status status = files.CheckOutput(path);
  if (status.ok()) return true;
  err << ShownOutput(path) << ": error: " << status.message() << " [cannot-write]\n";
  return false;
}

std::optional<PlanFile> ReadPlan(const std::string& path, FileSystem& files, std::ostream& err) {
  const LoadOptions options;
  StatusOr<std::string> text = files.Read(path, options.max_bytes);
  if (!text.ok()) {
    err << ShownPath(path) << ": error: " << text.status().message() << " [cannot-read]\n";
    return std::nullopt;
  }
  StatusOr<LoadedPlan> loaded =
      LoadPlan(std::span(reinterpret_cast<const uint8_t*>(text->data()), text->size()), options);
  if (!loaded.ok()) {
    err << ShownPath(path) << ": error: " << loaded.status().message() << " [bad-plan]\n";
    return std::nullopt;
  }
  return PlanFile{*std::move(loaded), static_cast<int64_t>(text->size())};
}

}  // namespace reshard
