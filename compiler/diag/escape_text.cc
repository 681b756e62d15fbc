#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/diag/diagnostics.h"
#include "compiler/diag/utf8.h"

namespace reshard {

namespace {

constexpr char kHex[] = "0123456789abcdef";

void AppendByte(uint8_t byte, std::string* out) {
  *out += "\\x";
  *out += kHex[byte >> 4];
  *out += kHex[byte & 15];
}

// Characters that a terminal obeys or that change the order or presence of what is around them:
// control characters, line separators, zero-width and direction marks. A name must not be able to
// look like another one.
bool IsHarmless(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return false;
  if (c == 0xAD || c == 0x61C || c == 0xFEFF) return false;
  if (c >= 0x200B && c <= 0x200F) return false;
  if (c >= 0x2028 && c <= 0x202E) return false;
  if (c >= 0x2060 && c <= 0x206F) return false;
  if (c >= 0xFFF0 && c <= 0xFFFB) return false;
  return c < 0xE0000 || c > 0xE0FFF;
}

void AppendCodePoint(char32_t c, std::string* out) {
  if (c == '\n') {
    *out += "\\n";
  } else if (c == '\r') {
    *out += "\\r";
  } else if (c == '\t') {
    *out += "\\t";
  } else if (c < 0x80) {
    AppendByte(static_cast<uint8_t>(c), out);
  } else {
    *out += c > 0xFFFF ? "\\U" : "\\u";
    for (int shift = c > 0xFFFF ? 28 : 12; shift >= 0; shift -= 4) *out += kHex[(c >> shift) & 15];
  }
}

}  // namespace

std::string EscapeForTerminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(i));
    if (c.size_bytes == 0) {
      AppendByte(static_cast<uint8_t>(text[i]), &out);
      ++i;
      continue;
    }
    if (IsHarmless(c.code_point)) {
      out += text.substr(i, c.size_bytes);
    } else {
      AppendCodePoint(c.code_point, &out);
    }
    i += c.size_bytes;
  }
  return out;
}

}  // namespace reshard
