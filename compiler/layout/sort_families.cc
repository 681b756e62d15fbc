#include "compiler/layout/sort_families.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/layout/name_order.h"

namespace reshard {

void SortFamilies(Layout* layout) {
  std::vector<ParamFamily>& families = layout->families;
  std::vector<std::string> names;
  names.reserve(families.size());
  for (const ParamFamily& family : families) {
    names.push_back(NameWithHoles(family.name));
  }
  std::vector<FamilyId> order(families.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](FamilyId a, FamilyId b) {
    if (names[a] != names[b]) return NameLess(names[a], names[b]);
    const ParamFamily& left = families[a];
    const ParamFamily& right = families[b];
    const std::string first = left.name.Instance(left.loop_begin);
    const std::string other = right.name.Instance(right.loop_begin);
    if (first != other) return NameLess(first, other);
    const auto loops = std::tie(left.loop_begin, left.loop_extent);
    const auto other_loops = std::tie(right.loop_begin, right.loop_extent);
    if (loops != other_loops) return loops < other_loops;
    return layout->rank_sets[left.ranks] < layout->rank_sets[right.ranks];
  });
  std::vector<FamilyId> new_ids(families.size());
  std::vector<ParamFamily> sorted;
  sorted.reserve(families.size());
  for (const FamilyId old_id : order) {
    new_ids[old_id] = static_cast<FamilyId>(sorted.size());
    sorted.push_back(std::move(families[old_id]));
  }
  families = std::move(sorted);
  for (Place& place : layout->places) place.family = new_ids[place.family];
  for (Fill& fill : layout->fills) fill.family = new_ids[fill.family];
  std::stable_sort(layout->places.begin(), layout->places.end(),
                   [](const Place& a, const Place& b) { return a.family < b.family; });
  std::stable_sort(layout->fills.begin(), layout->fills.end(),
                   [](const Fill& a, const Fill& b) { return a.family < b.family; });
}

}  // namespace reshard
