// PlanRows: the rows of a plan's tables as ids of their contents.
//
// Rows refer to each other by what they are and never by number, as in canonical_plan.h, but
// without making text. Rows are compared as they stand; where templates or params are cut in
// another way in the other plan, what is left over is compared tensor by tensor and buffer by
// buffer, so that the same bytes at the same places are equal however a layout is written.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PLAN_ROWS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PLAN_ROWS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// How many rows of a table only one plan has.
struct TableChange {
  std::string_view name;
  int64_t only_before = 0, only_after = 0;
  bool changed() const { return only_before + only_after > 0; }
};

struct PlanRowChanges {
  TableChange tensors{"tensors"};
  TableChange source_params{"source params"}, destination_params{"destination params"};
  TableChange classes{"classes"}, streams{"streams"}, trees{"trees"};
  // The same streams and trees, but with other numbers: staging offsets and the order of operations
  // within a round follow from these.
  bool renumbered = false;
  bool changed() const {
    return tensors.changed() || source_params.changed() || destination_params.changed() ||
           classes.changed() || streams.changed() || trees.changed();
  }
};
PlanRowChanges CompareRows(const Plan& before, const Plan& after);

// How many items of either sorted list the other one lacks, equal ones counted as often as there.
template <class Item>
void CountUnequal(const std::vector<Item>& before, const std::vector<Item>& after,
                  TableChange* change) {
  int64_t common = 0;
  for (size_t i = 0, j = 0; i < before.size() && j < after.size();) {
    const auto order = before[i] <=> after[j];
    if (order == 0) ++common;
    const bool behind = order <= 0;
    if (order >= 0) ++j;
    if (behind) ++i;
  }
  change->only_before = static_cast<int64_t>(before.size()) - common;
  change->only_after = static_cast<int64_t>(after.size()) - common;
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PLAN_ROWS_H_
