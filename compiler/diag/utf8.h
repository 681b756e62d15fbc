// UTF-8 as bytes: decoding one character, and finding the first byte that is not part of one.
#ifndef RESHARD_COMPILER_DIAG_UTF8_H_
#define RESHARD_COMPILER_DIAG_UTF8_H_

#include <cstddef>
#include <string_view>

namespace reshard {

// The character at the start of a text. size_bytes == 0: the bytes there are no character (stray
// continuation, truncated, overlong, a surrogate, beyond U+10FFFF) or the text is empty.
struct Utf8Char {
  char32_t code_point = 0;
  size_t size_bytes = 0;
};
Utf8Char DecodeUtf8(std::string_view text);

// The offset of the first byte that is not UTF-8, or text.size() when all of it is.
size_t FindInvalidUtf8(std::string_view text);

}  // namespace reshard

#endif  // RESHARD_COMPILER_DIAG_UTF8_H_
