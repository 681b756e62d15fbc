#include "compiler/layout/logical_index.h"

#include <algorithm>
#include <utility>

namespace reshard {

using Entry = LogicalTable::Entry;

namespace {

// What is known of a single name, as an entry.
Entry EntryOf(const NameBox& box, const LogicalRef& ref) {
  Entry entry;
  entry.super = ref.super;
  entry.base = ref.loop_values;
  for (const NameBox::Slot& slot : box.slots) entry.slots.push_back({slot.begin, slot.end, -1});
  return entry;
}

}  // namespace

bool Overlap(const Entry& entry, const NameBox& box) {
  for (size_t i = 0; i < box.slots.size(); ++i) {
    if (entry.slots[i].end <= box.slots[i].begin || box.slots[i].end <= entry.slots[i].begin) {
      return false;
    }
  }
  return true;
}

bool Contains(const Entry& entry, const NameBox& box) {
  for (size_t i = 0; i < box.slots.size(); ++i) {
    if (box.slots[i].begin < entry.slots[i].begin || box.slots[i].end > entry.slots[i].end) {
      return false;
    }
  }
  return true;
}

std::vector<Entry> LogicalIndex::Known(const NameBox& box) const {
  std::vector<Entry> known;
  if (const auto it = table_.by_skeleton.find(box.skeleton); it != table_.by_skeleton.end()) {
    for (const Entry& entry : it->second) {
      if (Overlap(entry, box)) known.push_back(entry);
    }
  }
  if (const auto it = singles_.find(box.skeleton); it != singles_.end()) {
    if (!box.plain.empty()) {
      const auto single = table_.by_name.find(box.plain);
      if (single != table_.by_name.end()) known.push_back(EntryOf(box, single->second));
    } else {
      for (const Entry& entry : it->second) {
        if (Overlap(entry, box)) known.push_back(entry);
      }
    }
  }
  return known;
}

void LogicalIndex::AddEntry(const NameBox& box, Entry entry) {
  const bool ranged = std::any_of(entry.slots.begin(), entry.slots.end(),
                                  [](const Entry::Slot& slot) { return slot.axis >= 0; });
  if (ranged) {
    table_.by_skeleton[box.skeleton].push_back(std::move(entry));
    return;
  }
  table_.by_name[box.plain] = {entry.super, entry.base};
  singles_[box.skeleton].push_back(std::move(entry));
}

}  // namespace reshard
