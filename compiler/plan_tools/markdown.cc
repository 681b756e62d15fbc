#include "compiler/plan_tools/markdown.h"

#include "compiler/diag/diagnostics.h"

namespace reshard {
namespace {

bool IsWordCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Characters that are no markup wherever they stand. Bytes of UTF-8 above 127 are none either.
bool IsPlain(char c) {
  return IsWordCharacter(c) || c == ' ' || c == '.' || c == ',' || c == '/' || c == '-' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string MarkdownCode(std::string_view text) {
  if (text.empty()) return "";
  const std::string escaped = EscapeForTerminal(text);
  std::string out = "<code>";
  for (size_t i = 0; i < escaped.size(); ++i) {
    const char c = escaped[i];
    const bool inside_word = i > 0 && i + 1 < escaped.size() && IsWordCharacter(escaped[i - 1]) &&
                             IsWordCharacter(escaped[i + 1]);
    if (IsPlain(c) || (c == '_' && inside_word)) {
      out += c;
    } else {
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    }
  }
  return out + "</code>";
}

}  // namespace reshard
