#include "compiler/plan_tools/text_table.h"

#include <algorithm>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/markdown.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kElided = "\u2026";  // one column
constexpr size_t kLeastColumns = 12;            // of a column that is shortened

bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80U; }

// Characters of an escaped text: each takes one column of a terminal.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

// The byte at which character `index` begins.
size_t ByteOf(std::string_view text, size_t index) {
  size_t byte = 0;
  for (; byte < text.size(); ++byte) {
    if (!BeginsCharacter(text[byte])) continue;
    if (index == 0) break;
    --index;
  }
  return byte;
}

// `text` in at most `columns` columns, without some of its middle.
std::string Shortened(const std::string& text, size_t columns) {
  const size_t has = ColumnsOf(text);
  if (has <= columns) return text;
  const size_t tail = (columns - 1) / 2;
  const size_t head = columns - 1 - tail;
  return text.substr(0, ByteOf(text, head)) + std::string(kElided) +
         text.substr(ByteOf(text, has - tail));
}

// Makes columns of words narrower, the widest first, until a row fits.
void FitColumns(size_t width, const std::vector<bool>& right, std::vector<size_t>* columns) {
  size_t row = 0;
  for (const size_t column : *columns) row += kGap.size() + column;
  while (row > width) {
    size_t widest = columns->size();
    for (size_t i = 0; i < columns->size(); ++i) {
      if (right[i] || (*columns)[i] <= kLeastColumns) continue;
      if (widest == columns->size() || (*columns)[i] > (*columns)[widest]) widest = i;
    }
    if (widest == columns->size()) return;
    --(*columns)[widest];
    --row;
  }
}

void PrintRow(const std::vector<std::string>& row, const std::vector<size_t>& widths,
              const std::vector<bool>& right, std::ostream& out) {
  std::string line;
  for (size_t column = 0; column < row.size(); ++column) {
    const std::string text = Shortened(row[column], widths[column]);
    const std::string padding(widths[column] - ColumnsOf(text), ' ');
    line += kGap;
    line += right[column] ? padding + text : text + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << "\n";
}

}  // namespace

OutputFormat OutputFormatNamed(std::string_view name) {
  if (name == "json") return OutputFormat::kJson;
  return name == "markdown" ? OutputFormat::kMarkdown : OutputFormat::kText;
}

TextTable::TextTable(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    const bool right = !title.empty() && title[0] == '>';
    right_.push_back(right);
    titles_.push_back(right ? title.substr(1) : std::move(title));
  }
}

void TextTable::Add(std::vector<std::string> row) {
  RESHARD_CHECK(row.size() == titles_.size(), "a row has as many texts as there are columns");
  rows_.push_back(std::move(row));
}

size_t TextTable::ShownRows(const TextStyle& style) const {
  return style.rows == 0 ? rows_.size() : std::min(style.rows, rows_.size());
}

void TextTable::Print(const TextStyle& style, std::ostream& out) const {
  style.format == OutputFormat::kMarkdown ? PrintMarkdown(style, out) : PrintText(style, out);
}

void TextTable::PrintText(const TextStyle& style, std::ostream& out) const {
  const size_t shown = ShownRows(style);
  std::vector<std::vector<std::string>> rows(rows_.begin(),
                                             rows_.begin() + static_cast<int64_t>(shown));
  std::vector<size_t> widths;
  for (const std::string& title : titles_) widths.push_back(ColumnsOf(title));
  for (std::vector<std::string>& row : rows) {
    for (size_t column = 0; column < widths.size(); ++column) {
      row[column] = EscapeForTerminal(row[column]);
      widths[column] = std::max(widths[column], ColumnsOf(row[column]));
    }
  }
  if (style.width > 0) FitColumns(style.width, right_, &widths);
  PrintRow(titles_, widths, right_, out);
  for (const std::vector<std::string>& row : rows) PrintRow(row, widths, right_, out);
  if (shown < rows_.size()) {
    out << kGap << "... " << FormatCount(static_cast<int64_t>(rows_.size() - shown)) << " more\n";
  }
}

void TextTable::PrintMarkdown(const TextStyle& style, std::ostream& out) const {
  out << "|";
  for (const std::string& title : titles_) out << " " << title << " |";
  out << "\n|";
  for (const bool right : right_) out << (right ? " ---: |" : " --- |");
  out << "\n";
  const size_t shown = ShownRows(style);
  for (size_t i = 0; i < shown; ++i) {
    out << "|";
    for (const std::string& cell : rows_[i]) out << " " << MarkdownCode(cell) << " |";
    out << "\n";
  }
  if (shown < rows_.size()) {
    out << "\n" << FormatCount(static_cast<int64_t>(rows_.size() - shown)) << " more\n";
  }
}

void PrintLine(const TextStyle& style, std::string_view line, std::ostream& out) {
  if (style.format == OutputFormat::kMarkdown) {
    out << MarkdownCode(line) << "\n\n";
  } else {
    out << EscapeForTerminal(line) << "\n";
  }
}

void PrintTitle(const TextStyle& style, std::string_view title, std::ostream& out) {
  if (style.format == OutputFormat::kMarkdown) {
    out << "\n#### " << title << "\n\n";
  } else {
    out << "\n" << title << "\n";
  }
}

void PrintPairs(const TextStyle& style,
                const std::vector<std::pair<std::string, std::string>>& pairs, size_t name_columns,
                std::ostream& out) {
  if (style.format == OutputFormat::kMarkdown) {
    TextTable table({"", ""});
    for (const auto& [name, value] : pairs) table.Add({name, value});
    table.Print({style.format, 0, 0}, out);
    return;
  }
  for (const auto& [name, value] : pairs) {
    const size_t padding = name_columns - std::min(name_columns, name.size());
    out << name << std::string(padding, ' ') << EscapeForTerminal(value) << "\n";
  }
}

}  // namespace reshard
