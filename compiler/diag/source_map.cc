#include <algorithm>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "runtime/base/check.h"

namespace reshard {

uint32_t SourceMap::Add(std::string path, std::string text) {
  RESHARD_CHECK(text.size() < UINT32_MAX, "source files are below 4 GiB");
  File file;
  file.path = std::move(path);
  file.text = std::move(text);
  file.line_starts.push_back(0);
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return static_cast<uint32_t>(files_.size() - 1);
}

const std::string& SourceMap::path(uint32_t file) const {
  RESHARD_CHECK(file < files_.size(), "unknown source file");
  return files_[file].path;
}

std::string_view SourceMap::text(uint32_t file) const {
  RESHARD_CHECK(file < files_.size(), "unknown source file");
  return files_[file].text;
}

SourceMap::Position SourceMap::Locate(uint32_t file, uint32_t offset_bytes) const {
  RESHARD_CHECK(file < files_.size(), "unknown source file");
  const File& entry = files_[file];
  const std::string_view text = entry.text;
  const size_t offset = std::min<size_t>(offset_bytes, text.size());
  const auto after = std::upper_bound(entry.line_starts.begin(), entry.line_starts.end(), offset);
  const size_t line_begin = *(after - 1);
  size_t line_end = after == entry.line_starts.end() ? text.size() : *after - 1;
  // A line of a file with CR LF ends before the CR.
  if (line_end > line_begin && text[line_end - 1] == '\r') --line_end;
  Position position;
  position.line = static_cast<uint32_t>(after - entry.line_starts.begin());
  position.column = static_cast<uint32_t>(offset - line_begin + 1);
  position.line_text = text.substr(line_begin, line_end - line_begin);
  return position;
}

}  // namespace reshard
