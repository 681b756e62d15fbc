#include "compiler/plan_tools/text_table.h"

#include <algorithm>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/markdown.h"
#include "compiler/plan_tools/units.h"
#include "compiler/plan_tools/wrap_text.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

constexpr std::string_view kGap = "  ";
constexpr size_t kLeastColumns = 12;  // of a column that is narrowed, where its texts allow it
constexpr size_t kHang = 2;           // of further lines of a text

using Rows = std::vector<std::vector<std::string>>;

// Finds the widths at which a table fits its terminal.
class Fitting {
 public:
  // `widths`: of each column's longest text; `least`: how narrow a column of words may become.
  Fitting(const Rows& rows, const std::vector<bool>& right, std::vector<size_t> widths,
          const std::vector<size_t>& least)
      : right_(right), widths_(std::move(widths)), least_(least), lines_(widths_.size()) {
    // The first rows decide: a terminal shows no more at once.
    constexpr size_t kMostRows = 128;
    const size_t decide = std::min(rows.size(), kMostRows);
    for (size_t column = 0; column < widths_.size(); ++column) {
      if (right_[column]) continue;
      for (size_t width = least[column]; width <= widths_[column]; ++width) {
        lines_[column].emplace_back();
        for (size_t i = 0; i < decide; ++i) {
          lines_[column].back().push_back(WrapText(rows[i][column], width, kHang).size());
        }
      }
    }
    deciding_rows_ = decide;
  }

  // Makes columns of words narrower, one column of the terminal at a time, wherever that costs the
  // fewest lines, until rows fit or nothing is left to be narrowed.
  std::vector<size_t> Run(size_t width) {
    size_t row = 0;
    for (const size_t column : widths_) row += kGap.size() + column;
    for (; row > width; --row) {
      size_t best = widths_.size(), least_height = 0;
      for (size_t column = 0; column < widths_.size(); ++column) {
        if (right_[column] || widths_[column] <= least_[column]) continue;
        const size_t height = HeightWith(column, widths_[column] - 1);
        const bool better = best == widths_.size() || height < least_height ||
                            (height == least_height && widths_[column] > widths_[best]);
        if (!better) continue;
        best = column;
        least_height = height;
      }
      if (best == widths_.size()) break;
      --widths_[best];
    }
    return widths_;
  }

 private:
  // Lines of all deciding rows if a column had this width.
  size_t HeightWith(size_t narrowed, size_t width) const {
    size_t height = 0;
    for (size_t i = 0; i < deciding_rows_; ++i) {
      size_t lines = 1;
      for (size_t column = 0; column < widths_.size(); ++column) {
        if (right_[column] || widths_[column] < least_[column]) continue;
        const size_t of_column = column == narrowed ? width : widths_[column];
        lines = std::max(lines, lines_[column][of_column - least_[column]][i]);
      }
      height += lines;
    }
    return height;
  }

  const std::vector<bool>& right_;
  std::vector<size_t> widths_;
  const std::vector<size_t>& least_;
  std::vector<std::vector<std::vector<size_t>>> lines_;  // by column, width from `least` on, row
  size_t deciding_rows_ = 0;
};

void PrintRow(const std::vector<std::string>& row, const std::vector<size_t>& widths,
              const std::vector<bool>& right, std::ostream& out) {
  std::vector<std::vector<std::string>> texts;
  size_t lines = 1;
  for (size_t column = 0; column < row.size(); ++column) {
    texts.push_back(WrapText(row[column], widths[column], kHang));
    lines = std::max(lines, texts.back().size());
  }
  for (size_t i = 0; i < lines; ++i) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column) {
      const std::string text = i < texts[column].size() ? texts[column][i] : "";
      const std::string padding(widths[column] - std::min(widths[column], ColumnsOf(text)), ' ');
      line += kGap;
      line += right[column] ? padding + text : text + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
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
  std::vector<size_t> widths, least;
  for (const std::string& title : titles_) {
    widths.push_back(ColumnsOf(title));
    least.push_back(std::max(kLeastColumns, ColumnsOf(title)));
  }
  for (std::vector<std::string>& row : rows) {
    for (size_t column = 0; column < widths.size(); ++column) {
      row[column] = EscapeForTerminal(row[column]);
      widths[column] = std::max(widths[column], ColumnsOf(row[column]));
      least[column] = std::max(least[column], LeastColumns(row[column]) + kHang);
    }
  }
  if (style.width > 0) widths = Fitting(rows, right_, widths, least).Run(style.width);
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

void PrintWrapped(const TextStyle& style, const std::string& line, size_t hang, std::ostream& out) {
  const bool wraps = style.width > 0 && hang + kLeastColumns < style.width;
  if (!wraps) {
    out << line << "\n";
    return;
  }
  for (const std::string& part : WrapText(line, style.width, hang)) out << part << "\n";
}

void PrintLine(const TextStyle& style, std::string_view line, std::ostream& out) {
  if (style.format == OutputFormat::kMarkdown) {
    out << MarkdownCode(line) << "\n\n";
  } else {
    PrintWrapped(style, EscapeForTerminal(line), 0, out);
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
    TextTable table({"what", "is"});
    for (const auto& [name, value] : pairs) table.Add({name, value});
    table.Print({style.format, 0, 0}, out);
    return;
  }
  for (const auto& [name, value] : pairs) {
    const size_t padding = name_columns - std::min(name_columns, name.size());
    PrintWrapped(style, name + std::string(padding, ' ') + EscapeForTerminal(value), name_columns,
                 out);
  }
}

}  // namespace reshard
