#include "compiler/plan_tools/wrap_text.h"

#include <algorithm>
#include <cstdint>

namespace reshard {
namespace {

bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80U; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether `place` is inside of a digest, which nobody could copy from two lines.
bool InDigest(std::string_view text, size_t place) {
  constexpr size_t kDigits = 64;
  constexpr std::string_view kHex = "0123456789abcdef";
  const size_t before = text.substr(0, place).find_last_not_of(kHex);
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t end = std::min(text.find_first_not_of(kHex, place), text.size());
  return begin < place && place < end && end - begin == kDigits;
}

// How well a line can end before a place of a text; better ones are larger.
enum class Break : uint8_t { kNever, kAnywhere, kPunctuation, kNumber, kWord };

// `place` is inside of the text.
Break BreakBefore(std::string_view text, size_t place) {
  const char before = text[place - 1], after = text[place];
  if (!BeginsCharacter(after) || InDigest(text, place)) return Break::kNever;
  if (before == ' ') {
    return place >= 2 && IsDigit(text[place - 2]) ? Break::kNumber : Break::kWord;
  }
  if (after == ' ') return Break::kNever;
  const bool joins = before == '.' || before == ',' || before == '-' || before == '+';
  if (IsDigit(after) && (IsDigit(before) || joins)) return Break::kNever;
  // "1.5", "0..3": points and commas stay with the digits around them.
  if ((IsDigit(before) || before == '.') && (after == '.' || after == ',')) return Break::kNever;
  if (std::string_view("./_:,;)]}|-").find(before) != std::string_view::npos) {
    return Break::kPunctuation;
  }
  return Break::kAnywhere;
}

// The byte at which the first line of `text` ends, which has more than `columns` columns.
size_t EndOfLine(std::string_view text, size_t columns) {
  // Shorter lines than this are only made where nothing else is possible.
  const size_t least = columns / 3;
  size_t best = 0;
  Break how = Break::kNever;
  size_t column = 0;
  for (size_t place = 0; place < text.size(); ++place) {
    // Spaces at its end are no part of a line.
    const size_t line = column - (place > 0 && text[place - 1] == ' ' ? 1 : 0);
    if (BeginsCharacter(text[place])) ++column;
    if (place == 0) continue;
    if (line > columns && how != Break::kNever) break;
    const Break here = BreakBefore(text, place);
    if (here == Break::kNever) continue;
    const Break value = line < least ? std::min(here, Break::kAnywhere) : here;
    if (value < how) continue;
    best = place;
    how = value;
  }
  return how == Break::kNever ? text.size() : best;
}

}  // namespace

size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

size_t LeastColumns(std::string_view text) {
  size_t least = 1, piece = 0;
  for (size_t place = 0; place < text.size(); ++place) {
    if (place > 0 && text[place] != ' ' && BreakBefore(text, place) != Break::kNever) piece = 0;
    if (text[place] == ' ') {
      piece = 0;
    } else if (BeginsCharacter(text[place])) {
      ++piece;
    }
    least = std::max(least, piece);
  }
  return least;
}

std::vector<std::string> WrapText(std::string_view text, size_t columns, size_t hang) {
  std::vector<std::string> lines;
  std::string margin;
  size_t room = columns;
  while (ColumnsOf(text) > room) {
    const size_t end = EndOfLine(text, room);
    if (end == text.size()) break;
    std::string_view line = text.substr(0, end);
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    lines.push_back(margin + std::string(line));
    text.remove_prefix(end);
    margin.assign(hang, ' ');
    room = columns > hang ? columns - hang : 1;
  }
  if (!text.empty() || lines.empty()) lines.push_back(margin + std::string(text));
  return lines;
}

}  // namespace reshard
