#include "compiler/plan_tools/text_table.h"

#include <algorithm>

#include "compiler/plan_tools/units.h"
#include "runtime/base/check.h"

namespace reshard {
namespace {

constexpr std::string_view kGap = "  ";

void PrintRow(const std::vector<std::string>& row, const std::vector<size_t>& widths,
              const std::vector<bool>& right, std::ostream& out) {
  std::string line;
  for (size_t column = 0; column < row.size(); ++column) {
    const std::string padding(widths[column] - row[column].size(), ' ');
    line += kGap;
    line += right[column] ? padding + row[column] : row[column] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << "\n";
}

}  // namespace

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

void TextTable::Print(size_t limit, std::ostream& out) const {
  const size_t shown = limit == 0 ? rows_.size() : std::min(limit, rows_.size());
  std::vector<size_t> widths;
  for (const std::string& title : titles_) widths.push_back(title.size());
  for (size_t i = 0; i < shown; ++i) {
    for (size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], rows_[i][column].size());
    }
  }
  PrintRow(titles_, widths, right_, out);
  for (size_t i = 0; i < shown; ++i) PrintRow(rows_[i], widths, right_, out);
  if (shown < rows_.size()) {
    out << kGap << "... " << FormatCount(static_cast<int64_t>(rows_.size() - shown)) << " more\n";
  }
}

}  // namespace reshard
