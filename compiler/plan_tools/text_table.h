// TextTable: rows of text in aligned columns.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TEXT_TABLE_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TEXT_TABLE_H_

#include <ostream>
#include <string>
#include <vector>

namespace reshard {

class TextTable {
 public:
  // A title that starts with '>' names a column whose text stands at its right edge.
  explicit TextTable(std::vector<std::string> titles);
  // As many texts as there are columns.
  void Add(std::vector<std::string> row);
  // Prints the titles and the first `limit` rows (0: all), and counts those left out.
  void Print(size_t limit, std::ostream& out) const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TEXT_TABLE_H_
