#include "compiler/layout/sort_supers.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/layout/name_order.h"

namespace reshard {

void SortSupers(LogicalTable* table) {
  std::vector<SuperTensor>& supers = table->supers;
  std::vector<std::string> names;
  names.reserve(supers.size());
  for (const SuperTensor& super : supers) {
    names.push_back(NameWithHoles(super.name));
  }
  std::vector<SuperId> order(supers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](SuperId a, SuperId b) {
    if (names[a] != names[b]) return NameLess(names[a], names[b]);
    const SuperTensor& left = supers[a];
    const SuperTensor& right = supers[b];
    const std::string first = left.name.Instance(left.loop_begin);
    const std::string other = right.name.Instance(right.loop_begin);
    if (first != other) return NameLess(first, other);
    return std::tie(left.loop_begin, left.loop_extent) <
           std::tie(right.loop_begin, right.loop_extent);
  });
  std::vector<SuperId> new_ids(supers.size());
  std::vector<SuperTensor> sorted;
  sorted.reserve(supers.size());
  for (const SuperId old_id : order) {
    new_ids[old_id] = static_cast<SuperId>(sorted.size());
    sorted.push_back(std::move(supers[old_id]));
  }
  supers = std::move(sorted);
  for (SuperTensor& super : supers) {
    if (super.scale_of) super.scale_of->tensor = new_ids[super.scale_of->tensor];
  }
  for (auto& [skeleton, entries] : table->by_skeleton) {
    for (LogicalTable::Entry& entry : entries) entry.super = new_ids[entry.super];
  }
  for (auto& [name, ref] : table->by_name) ref.super = new_ids[ref.super];
}

}  // namespace reshard
