#include "compiler/layout/logical_templates.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/layout/limits.h"
#include "compiler/layout/logical_boxes.h"
#include "compiler/layout/name_skeleton.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

using Entry = LogicalTable::Entry;

class TemplateAdder {
 public:
  TemplateAdder(Side side, int64_t* entries_left, LogicalIndex* index,
                std::vector<PendingScale>* scales, Diagnostics* diags)
      : side_(side),
        first_of_side_(index->table().supers.size()),
        entries_left_(*entries_left),
        index_(*index),
        pending_(*scales),
        diags_(*diags) {}

  bool AddTemplate(const LogicalSpec& spec, const SpecScope& globals) {
    std::vector<const NameExpr*> names = {&spec.name};
    std::vector<Expr> also = spec.shape;
    if (spec.scale_of) {
      names.push_back(&spec.scale_of->tensor);
      also.insert(also.end(), spec.scale_of->block.begin(), spec.scale_of->block.end());
    }
    LoopBoxes loops(globals, spec.loops, names, also, &entries_left_);
    const NamePlan plan = PlanName(spec.name);
    return loops.ForEach(&diags_, [&](const LoopBox& box) {
      SuperTensor super;
      if (!FillSuper(spec, loops, box, &super)) return false;
      NameBox name;
      if (!loops.Box(spec.name, plan, box, &diags_, &name)) return false;
      super.name = PatternOf(spec.name, name, loops, box);
      std::optional<PendingScale> scale;
      if (spec.scale_of && !BoxScale(spec, loops, box, &scale)) return false;
      return AddSuper(std::move(super), name, std::move(scale));
    });
  }

 private:
  bool FillSuper(const LogicalSpec& spec, const LoopBoxes& loops, const LoopBox& box,
                 SuperTensor* super) {
    super->dtype = spec.dtype.value_or(DType::kBf16);
    super->declared = spec.span;
    super->declared_by_source = side_ == Side::kSource;
    std::optional<int64_t> total = DTypeBytes(super->dtype);
    for (const Expr& expr : spec.shape) {
      int64_t extent = 0;
      if (!loops.Eval(expr, &diags_, &extent)) return false;
      if (extent < 0) {
        diags_.Error(DiagnosticCode::kBadValue, expr.span,
                     "extent " + std::to_string(extent) + " of '" + spec.name.source +
                         "', expected at least 0" + loops.Where());
        return false;
      }
      super->shape.push_back(extent);
    }
    for (const Run& range : box.ranges) {
      super->loop_begin.push_back(range.begin);
      super->loop_extent.push_back(range.count);
      total = total ? CheckedMul(*total, range.count) : total;
    }
    for (const int64_t extent : super->shape) total = total ? CheckedMul(*total, extent) : total;
    if (super->axis_count() > kMaxDims) {
      diags_.Error(DiagnosticCode::kTooLarge, spec.shape_span,
                   "'" + spec.name.source + "' has " + std::to_string(super->axis_count()) +
                       " loops and dimensions, at most " + std::to_string(kMaxDims) + " work");
      return false;
    }
    if (!total || *total > kMaxTensorBytes) {
      diags_.Error(DiagnosticCode::kTooLarge, spec.shape_span,
                   "'" + spec.name.source + "' with shape " + ListText(super->shape) +
                       " does not fit 64 bits" + loops.Where());
      return false;
    }
    return true;
  }

  static NamePattern PatternOf(const NameExpr& expr, const NameBox& name, const LoopBoxes& loops,
                               const LoopBox& box) {
    NamePattern pattern;
    if (!name.plain.empty() || box.ranges.empty()) {
      pattern.text = {name.plain};
      return pattern;
    }
    pattern.text = {expr.text[0]};
    for (size_t h = 0; h < expr.holes.size(); ++h) {
      int64_t value = 0;
      EvalFailure failure;
      if (!loops.scope().EvalInt(expr.holes[h], &value, &failure)) continue;
      size_t range = 0;
      while (range < box.ranges.size() &&
             AsName(expr.holes[h]) != loops.scope().name(box.variables[range])) {
        ++range;
      }
      if (range == box.ranges.size()) {
        pattern.text.back() += std::to_string(value) + expr.text[h + 1];
        continue;
      }
      NamePattern::Hole hole;
      hole.coef.assign(box.ranges.size(), 0);
      hole.coef[range] = 1;
      pattern.holes.push_back(hole);
      pattern.text.push_back(expr.text[h + 1]);
    }
    return pattern;
  }

  bool BoxScale(const LogicalSpec& spec, const LoopBoxes& loops, const LoopBox& box,
                std::optional<PendingScale>* out) {
    PendingScale scale;
    scale.span = spec.scale_of->span;
    for (const Expr& expr : spec.scale_of->block) {
      int64_t extent = 0;
      if (!loops.Eval(expr, &diags_, &extent)) return false;
      if (extent < 1) {
        diags_.Error(DiagnosticCode::kBadValue, expr.span,
                     "a block of " + std::to_string(extent) + " elements, expected at least 1");
        return false;
      }
      scale.block.push_back(extent);
    }
    if (!loops.Box(spec.scale_of->tensor, PlanName(spec.scale_of->tensor), box, &diags_,
                   &scale.tensor)) {
      return false;
    }
    *out = std::move(scale);
    return true;
  }

  bool AddSuper(SuperTensor super, const NameBox& box, std::optional<PendingScale> scale) {
    std::vector<Entry> known = index_.Known(box);
    for (const Entry& entry : known) {
      if (!Agree(super, entry.super)) return false;
    }
    if (known.empty()) {
      AppendSuper(std::move(super), box, std::move(scale));
      return true;
    }
    // The other side knows some of these tensors. Those that it does not are added one by one.
    return AddMissing(super, box, known);
  }

  // Splits `box` along its slots until a part is known as a whole or not at all.
  bool AddMissing(const SuperTensor& super, const NameBox& box, const std::vector<Entry>& known) {
    std::vector<Entry> touching;
    for (const Entry& entry : known) {
      if (Contains(entry, box)) return true;
      if (Overlap(entry, box)) touching.push_back(entry);
    }
    entries_left_ -= static_cast<int64_t>(known.size() / 16 + 1);
    if (entries_left_ < 0) {
      diags_.Error(DiagnosticCode::kTooLarge, super.declared,
                   "the sides declare too many tensors in different ways");
      return false;
    }
    if (touching.empty()) {
      SuperTensor part = super;
      for (const NameBox::Slot& slot : box.slots) {
        if (slot.range < 0) continue;
        part.loop_begin[static_cast<size_t>(slot.range)] = slot.begin;
        part.loop_extent[static_cast<size_t>(slot.range)] = slot.end - slot.begin;
      }
      AppendSuper(std::move(part), box, std::nullopt);
      return true;
    }
    const Entry& entry = touching[0];
    for (size_t i = 0; i < box.slots.size(); ++i) {
      for (const int64_t cut : {entry.slots[i].begin, entry.slots[i].end}) {
        if (cut <= box.slots[i].begin || cut >= box.slots[i].end) continue;
        NameBox low = box, high = box;
        low.slots[i].end = cut;
        high.slots[i].begin = cut;
        return AddMissing(super, low, touching) && AddMissing(super, high, touching);
      }
    }
    return true;
  }

  // The tensors that two templates share, as exactly as can be said in one name.
  static std::string CommonName(const SuperTensor& mine, const SuperTensor& other) {
    std::vector<int64_t> begin = mine.loop_begin;
    std::vector<int64_t> extent = mine.loop_extent;
    if (mine.name == other.name && begin.size() == other.loop_begin.size()) {
      for (size_t i = 0; i < begin.size(); ++i) {
        const int64_t end =
            std::min(begin[i] + extent[i], other.loop_begin[i] + other.loop_extent[i]);
        begin[i] = std::max(begin[i], other.loop_begin[i]);
        extent[i] = end - begin[i];
      }
    }
    return mine.name.Describe(begin, extent);
  }

  // Reports where `mine` contradicts what is known; false when it does.
  bool Agree(const SuperTensor& mine, SuperId known) {
    const SuperTensor& other = index_.table().supers[known];
    const std::string name = CommonName(mine, other);
    if (known >= first_of_side_) {
      diags_
          .Error(DiagnosticCode::kDuplicateTensor, mine.declared,
                 "'" + name + "' is declared twice")
          .notes.push_back({other.declared, "it is declared here too"});
      return false;
    }
    if (mine.shape != other.shape) {
      diags_
          .Error(DiagnosticCode::kShapeMismatch, mine.declared,
                 "'" + name + "' has shape " + ListText(mine.shape) + ", expected " +
                     ListText(other.shape) + " as on the other side")
          .notes.push_back({other.declared, "'" + name + "' is declared here"});
      return false;
    }
    if (mine.dtype != other.dtype) {
      diags_
          .Error(DiagnosticCode::kDtypeMismatch, mine.declared,
                 "'" + name + "' has dtype " + std::string(DTypeText(mine.dtype)) + ", expected " +
                     std::string(DTypeText(other.dtype)) + " as on the other side")
          .notes.push_back({other.declared, "'" + name + "' is declared here"});
      return false;
    }
    return true;
  }

  void AppendSuper(SuperTensor super, const NameBox& box, std::optional<PendingScale> scale) {
    const auto id = static_cast<SuperId>(index_.table().supers.size());
    if (scale) {
      scale->super = id;
      pending_.push_back(std::move(*scale));
    }
    Entry entry;
    entry.super = id;
    entry.base = super.loop_begin;
    for (const NameBox::Slot& slot : box.slots) {
      entry.slots.push_back({slot.begin, slot.end, slot.range});
    }
    index_.table().supers.push_back(std::move(super));
    index_.AddEntry(box, std::move(entry));
  }

  const Side side_;
  const size_t first_of_side_;
  int64_t& entries_left_;
  LogicalIndex& index_;
  std::vector<PendingScale>& pending_;
  Diagnostics& diags_;
};

}  // namespace

bool AddLogicalTemplates(const LayoutSpec& spec, const SpecScope& globals, int64_t* entries_left,
                         LogicalIndex* index, std::vector<PendingScale>* scales,
                         Diagnostics* diags) {
  TemplateAdder adder(spec.side, entries_left, index, scales, diags);
  bool good = true;
  for (const LogicalSpec& logical : spec.logical) good &= adder.AddTemplate(logical, globals);
  return good;
}

}  // namespace reshard
