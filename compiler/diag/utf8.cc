#include "compiler/diag/utf8.h"

#include <cstdint>

namespace reshard {

Utf8Char DecodeUtf8(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {first, 1};
  size_t size_bytes = 0;
  char32_t code_point = 0;
  char32_t lowest = 0;  // smaller ones have a shorter encoding
  if ((first & 0xE0) == 0xC0) {
    size_bytes = 2;
    code_point = first & 0x1F;
    lowest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    size_bytes = 3;
    code_point = first & 0x0F;
    lowest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    size_bytes = 4;
    code_point = first & 0x07;
    lowest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size_bytes) return {};
  for (size_t i = 1; i < size_bytes; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code_point = (code_point << 6) | (next & 0x3F);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < lowest || code_point > 0x10FFFF || surrogate) return {};
  return {code_point, size_bytes};
}

size_t FindInvalidUtf8(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (static_cast<uint8_t>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const Utf8Char c = DecodeUtf8(text.substr(i));
    if (c.size_bytes == 0) return i;
    i += c.size_bytes;
  }
  return i;
}

}  // namespace reshard
