// TextTable: rows of text in aligned columns, or as a Markdown table; and what stands around
// tables.
//
// Names come from files. As text they are escaped for a terminal when they are printed, in Markdown
// they stand in <code> without any markup of their own.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TEXT_TABLE_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TEXT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reshard {

enum class OutputFormat : uint8_t { kText, kMarkdown, kJson };
// The format called "text", "markdown" or "json"; text for any other name.
OutputFormat OutputFormatNamed(std::string_view name);

// How results are printed for people.
struct TextStyle {
  OutputFormat format = OutputFormat::kText;  // tables know text and Markdown
  size_t rows = 16;                           // of each table, 0: all
  size_t width = 0;  // columns of the terminal, 0: lines are as long as what they say
};

class TextTable {
 public:
  // A title that starts with '>' names a column whose text stands at its right edge.
  explicit TextTable(std::vector<std::string> titles);
  // As many texts as there are columns.
  void Add(std::vector<std::string> row);
  // Prints the titles and the first rows, and counts those left out. Where a row is wider than the
  // terminal, columns of words become narrower and their texts take several lines, which end
  // nowhere in a number. Nothing is cut: a row of numbers that is still too wide stays so.
  void Print(const TextStyle& style, std::ostream& out) const;

 private:
  size_t ShownRows(const TextStyle& style) const;
  void PrintText(const TextStyle& style, std::ostream& out) const;
  void PrintMarkdown(const TextStyle& style, std::ostream& out) const;

  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

// A line that is escaped for a terminal already; what does not fit goes on `hang` columns from the
// margin.
void PrintWrapped(const TextStyle& style, const std::string& line, size_t hang, std::ostream& out);
// A line before a table, or by itself.
void PrintLine(const TextStyle& style, std::string_view line, std::ostream& out);
// The title of a table that follows others.
void PrintTitle(const TextStyle& style, std::string_view title, std::ostream& out);
// Lines of a name and a value; names as text take `name_columns`.
void PrintPairs(const TextStyle& style,
                const std::vector<std::pair<std::string, std::string>>& pairs, size_t name_columns,
                std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TEXT_TABLE_H_
