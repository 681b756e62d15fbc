// SplitLines: text as lines of words, each with its place. For the line formats of other programs.
#ifndef RESHARD_COMPILER_IMPORT_TEXT_WORDS_H_
#define RESHARD_COMPILER_IMPORT_TEXT_WORDS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

struct TextWord {
  std::string_view text;  // of the source file
  Span span;
};
struct TextLine {
  std::vector<TextWord> words;
};

// Words end at spaces, tabs and the escape sequences by which terminals underline. What follows
// `comment` is left out; '\0': nothing.
std::vector<TextLine> SplitLines(std::string_view text, uint32_t file, char comment);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_TEXT_WORDS_H_
