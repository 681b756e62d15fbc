#include "compiler/diag/utf8.h"

#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// The encoding by its definition, without the decoder's shortcuts.
std::string Encode(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 + c / 64), byte(0x80 + c % 64)};
  if (c < 0x10000) {
    return {byte(0xE0 + c / 4096), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
  }
  return {byte(0xF0 + c / 262144), byte(0x80 + c / 4096 % 64), byte(0x80 + c / 64 % 64),
          byte(0x80 + c % 64)};
}

TEST_CASE("every code point but the surrogates decodes to itself") {
  size_t wrong = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const bool surrogate = c >= 0xD800 && c < 0xE000;
    const std::string text = Encode(c);
    const Utf8Char decoded = DecodeUtf8(text + "x");
    const bool same = decoded.code_point == c && decoded.size_bytes == text.size();
    if (surrogate ? decoded.size_bytes != 0 : !same) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("malformed bytes are no character") {
  for (const std::string text :
       {"", "\x80", "\xC3", "\xC3(", "\xC0\x80", "\xE0\x80\xAF", "\xE2\x82", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF"}) {
    CAPTURE(text);
    CHECK(DecodeUtf8(text).size_bytes == 0);
  }
}

TEST_CASE("the first bad byte is found") {
  CHECK(FindInvalidUtf8("plain") == 5);
  CHECK(FindInvalidUtf8("gr\xC3\xBC\xC3\x9F"
                        "e") == 7);
  CHECK(FindInvalidUtf8("ab\xC3\xBC\xC3") == 4);
  CHECK(FindInvalidUtf8("\xFF") == 0);
}

}  // namespace
}  // namespace reshard
