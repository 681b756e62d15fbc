#include "compiler/layout/logical_scales.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/list_text.h"

namespace reshard {
namespace {

using Entry = LogicalTable::Entry;

class ScaleResolver {
 public:
  ScaleResolver(LogicalIndex* index, Diagnostics* diags) : index_(*index), diags_(*diags) {}

  bool ResolveScale(const PendingScale& pending) {
    SuperTensor& scale = index_.table().supers[pending.super];
    const std::string name = scale.name.Describe(scale.loop_begin, scale.loop_extent);
    const std::vector<Entry> known = index_.Known(pending.tensor);
    const auto whole = std::find_if(known.begin(), known.end(), [&](const Entry& entry) {
      return Contains(entry, pending.tensor);
    });
    if (whole == known.end()) {
      diags_.Error(DiagnosticCode::kUnknownTensor, pending.span,
                   "'scale_of' of '" + name + "' does not name the tensors of one template");
      return false;
    }
    const SuperTensor& tensor = index_.table().supers[whole->super];
    SuperTensor::ScaleOf result;
    result.tensor = whole->super;
    result.block = pending.block;
    result.span = pending.span;
    result.loop_map.assign(scale.loop_count(), -1);
    bool fits = true;
    for (size_t i = 0; i < pending.tensor.slots.size(); ++i) {
      const LogicalTable::Entry::Slot& slot = whole->slots[i];
      if (slot.axis < 0) continue;
      const int range = pending.tensor.slots[i].range;
      fits &= range >= 0 && slot.begin == whole->base[static_cast<size_t>(slot.axis)];
      if (range >= 0) result.loop_map[static_cast<size_t>(range)] = slot.axis;
    }
    for (const int64_t axis : result.loop_map) fits &= axis >= 0;
    fits &= tensor.loop_count() == scale.loop_count();
    if (!fits) {
      diags_.Error(DiagnosticCode::kBadValue, pending.span,
                   "'" + name + "' and the tensor that it scales have different loops");
      return false;
    }
    return CheckScaleShape(pending, name, tensor, std::move(result), &scale);
  }

 private:
  bool CheckScaleShape(const PendingScale& pending, const std::string& name,
                       const SuperTensor& tensor, SuperTensor::ScaleOf result, SuperTensor* scale) {
    std::vector<int64_t> expected;
    const bool same_rank = pending.block.size() == tensor.shape.size();
    for (size_t d = 0; same_rank && d < tensor.shape.size(); ++d) {
      expected.push_back((tensor.shape[d] + pending.block[d] - 1) / pending.block[d]);
    }
    if (!same_rank || expected != scale->shape) {
      diags_
          .Error(DiagnosticCode::kShapeMismatch, pending.span,
                 "'" + name + "' has shape " + ListText(scale->shape) + ", expected " +
                     ListText(expected) + ": one element per block of " + ListText(pending.block) +
                     " of " + ListText(tensor.shape))
          .notes.push_back({tensor.declared, "the tensor that it scales is declared here"});
      return false;
    }
    scale->scale_of = std::move(result);
    return true;
  }

  LogicalIndex& index_;
  Diagnostics& diags_;
};

}  // namespace

bool ResolveScales(const std::vector<PendingScale>& pending, LogicalIndex* index,
                   Diagnostics* diags) {
  ScaleResolver resolver(index, diags);
  bool good = true;
  for (const PendingScale& scale : pending) good &= resolver.ResolveScale(scale);
  return good;
}

}  // namespace reshard
