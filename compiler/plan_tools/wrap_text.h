// WrapText: a text in lines of some columns, so that nothing of it is lost and no number is cut.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_WRAP_TEXT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_WRAP_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reshard {

// Characters of an escaped text: each takes one column of a terminal.
size_t ColumnsOf(std::string_view text);

// The columns that the text needs at least: its longest number.
size_t LeastColumns(std::string_view text);

// Lines of at most `columns` columns, or of as many as a number needs. Lines end between words,
// rather not between a number and its unit; where words are too long, after punctuation; else
// anywhere but inside a number. At least one line; those after the first begin with `hang` spaces,
// which count.
std::vector<std::string> WrapText(std::string_view text, size_t columns, size_t hang);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_WRAP_TEXT_H_
