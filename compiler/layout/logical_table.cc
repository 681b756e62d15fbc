#include "compiler/layout/logical_table.h"

#include <algorithm>

#include "compiler/layout/limits.h"
#include "compiler/layout/logical_aliases.h"
#include "compiler/layout/logical_index.h"
#include "compiler/layout/logical_scales.h"
#include "compiler/layout/logical_templates.h"
#include "compiler/layout/name_skeleton.h"
#include "compiler/layout/scope.h"
#include "compiler/layout/sort_supers.h"

namespace reshard {

int64_t SuperTensor::tensor_count() const {
  int64_t count = 1;
  for (const int64_t extent : loop_extent) count *= extent;
  return count;
}

int64_t SuperTensor::tensor_bytes() const {
  int64_t bytes = DTypeBytes(dtype);
  for (const int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::optional<LogicalRef> LogicalTable::Find(std::string_view name) const {
  if (const auto it = by_name.find(std::string(name)); it != by_name.end()) return it->second;
  const NameSkeleton skeleton = SkeletonOf(name);
  const auto it = by_skeleton.find(skeleton.text);
  if (it == by_skeleton.end()) return std::nullopt;
  for (const Entry& entry : it->second) {
    LogicalRef ref{entry.super, entry.base};
    bool matches = true;
    for (size_t i = 0; matches && i < entry.slots.size(); ++i) {
      const Entry::Slot& slot = entry.slots[i];
      matches = slot.begin <= skeleton.slots[i] && skeleton.slots[i] < slot.end;
      if (matches && slot.axis >= 0) {
        ref.loop_values[static_cast<size_t>(slot.axis)] += skeleton.slots[i] - slot.begin;
      }
    }
    if (matches) return ref;
  }
  return std::nullopt;
}

std::vector<std::string> LogicalTable::SampleNames() const {
  constexpr size_t kMaxNames = 4000;
  std::vector<std::string> names;
  for (const SuperTensor& super : supers) {
    if (names.size() == kMaxNames) break;
    names.push_back(super.name.Instance(super.loop_begin));
  }
  for (const auto& [name, ref] : by_name) names.push_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > 2 * kMaxNames) names.resize(2 * kMaxNames);
  return names;
}

bool BuildLogicalTable(const LayoutSpec* source, const LayoutSpec* destination, Diagnostics* diags,
                       LogicalTable* out, const LayoutSpec* only_aliases) {
  struct SideScope {
    const LayoutSpec* spec;
    SpecScope scope;
  };
  SideScope sides[] = {{source, {}}, {destination, {}}, {only_aliases, {}}};
  LogicalIndex index(out);
  std::vector<PendingScale> scales;
  int64_t entries_left = kMaxTableEntries;
  bool good = true;
  for (SideScope& side : sides) {
    if (side.spec != nullptr) good &= side.scope.Build(*side.spec, diags);
  }
  if (!good) return false;
  for (const SideScope& side : sides) {
    if (side.spec == nullptr || side.spec == only_aliases) continue;
    good &= AddLogicalTemplates(*side.spec, side.scope, &entries_left, &index, &scales, diags);
  }
  // Aliases of tensors that were refused would only repeat the cause.
  if (!good) return false;
  for (const SideScope& side : sides) {
    if (side.spec == nullptr) continue;
    good &= AddAliases(*side.spec, side.scope, &entries_left, &index, diags);
  }
  if (!good || !ResolveScales(scales, &index, diags)) return false;
  SortSupers(out);
  return true;
}

}  // namespace reshard
