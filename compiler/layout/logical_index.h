// LogicalIndex: a table in the making, with what is needed to find names that overlap.
#ifndef RESHARD_COMPILER_LAYOUT_LOGICAL_INDEX_H_
#define RESHARD_COMPILER_LAYOUT_LOGICAL_INDEX_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/layout/logical_boxes.h"
#include "compiler/layout/logical_table.h"

namespace reshard {

// Whether an entry speaks of some, or of all, of the names in a box of the same skeleton.
bool Overlap(const LogicalTable::Entry& entry, const NameBox& box);
bool Contains(const LogicalTable::Entry& entry, const NameBox& box);

class LogicalIndex {
 public:
  explicit LogicalIndex(LogicalTable* table) : table_(*table) {}

  LogicalTable& table() { return table_; }
  const LogicalTable& table() const { return table_; }
  // What the table already says of the names in `box`: entries of templates, and single names.
  std::vector<LogicalTable::Entry> Known(const NameBox& box) const;
  // The names of `box` lead to `entry` from now on.
  void AddEntry(const NameBox& box, LogicalTable::Entry entry);

 private:
  LogicalTable& table_;
  std::unordered_map<std::string, std::vector<LogicalTable::Entry>> singles_;  // by skeleton
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LOGICAL_INDEX_H_
