#include "compiler/import/text_words.h"

namespace reshard {
namespace {

// Bytes of the escape sequence at `at`: ESC [ digits letter. 0 when there is none.
size_t EscapeBytes(std::string_view line, size_t at) {
  if (at + 1 >= line.size() || line[at] != '\x1b' || line[at + 1] != '[') return 0;
  size_t end = at + 2;
  while (end < line.size() && ((line[end] >= '0' && line[end] <= '9') || line[end] == ';')) ++end;
  return end < line.size() ? end + 1 - at : end - at;
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

TextLine Split(std::string_view line, uint32_t file, size_t offset) {
  TextLine result;
  size_t at = 0;
  while (at < line.size()) {
    if (const size_t escape = EscapeBytes(line, at); escape > 0) {
      at += escape;
      continue;
    }
    if (IsBlank(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && !IsBlank(line[at]) && (at == begin || EscapeBytes(line, at) == 0))
      ++at;
    result.words.push_back(
        {line.substr(begin, at - begin),
         {file, static_cast<uint32_t>(offset + begin), static_cast<uint32_t>(offset + at)}});
  }
  return result;
}

}  // namespace

std::vector<TextLine> SplitLines(std::string_view text, uint32_t file, char comment) {
  std::vector<TextLine> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    std::string_view line = text.substr(begin, end - begin);  // npos: to the end
    const size_t next = begin + line.size() + 1;
    if (comment != '\0') line = line.substr(0, line.find(comment));
    lines.push_back(Split(line, file, begin));
    begin = next;
  }
  return lines;
}

}  // namespace reshard
