#include "compiler/layout/logical_boxes.h"

#include <utility>

namespace reshard {
namespace {

// Loops in an order in which each comes after those that its bounds use. The reader has refused
// cycles.
std::vector<size_t> OrderLoops(const VarScope& scope, const std::vector<LoopSpec>& loops) {
  std::vector<size_t> order;
  VarMask placed = 0;
  while (order.size() < loops.size()) {
    const size_t before = order.size();
    for (size_t i = 0; i < loops.size(); ++i) {
      if ((placed >> i & 1) != 0) continue;
      if ((scope.DependenciesOf(loops[i].range) & ~placed) != 0) continue;
      order.push_back(i);
      placed |= VarMask{1} << i;
    }
    if (order.size() == before) break;
  }
  return order;
}

}  // namespace

LoopBoxes::LoopBoxes(const SpecScope& globals, const std::vector<LoopSpec>& loops,
                     std::vector<const NameExpr*> names, const std::vector<Expr>& also,
                     int64_t* assignments_left)
    : scope_(globals), loops_(loops), assignments_left_(*assignments_left) {
  for (const LoopSpec& loop : loops) scope_.Add(loop.name);
  order_ = OrderLoops(scope_, loops);
  VarMask written_out = 0;
  for (const Expr& expr : also) written_out |= scope_.DependenciesOf(expr);
  for (const LoopSpec& loop : loops) written_out |= scope_.DependenciesOf(loop.range);
  for (const NameExpr* name : names) {
    const bool glued = PlanName(*name).glued;
    VarMask plain = 0;
    for (const Expr& hole : name->holes) {
      const VarMask mask = scope_.DependenciesOf(hole);
      if (glued || !AsName(hole) || (mask & plain) != 0) written_out |= mask;
      plain |= mask;
    }
    ranged_ = name == names[0] ? plain : ranged_ & plain;
  }
  ranged_ &= ~written_out;
}

std::string LoopBoxes::Where() const {
  std::string text;
  for (size_t i = 0; i < loops_.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + loops_[i].name + "=" + std::to_string(scope_.value(i));
  }
  return text.empty() ? text : text + ")";
}

bool LoopBoxes::Eval(const Expr& expr, Diagnostics* diags, int64_t* value) const {
  EvalFailure failure;
  if (scope_.EvalInt(expr, value, &failure)) return true;
  diags->Error(failure.code, failure.span, failure.text + Where());
  return false;
}

bool LoopBoxes::Walk(size_t depth, Diagnostics* diags, LoopBox* box,
                     const std::function<bool(const LoopBox&)>& visit) {
  if (depth == order_.size()) {
    if (--assignments_left_ >= 0) return visit(*box);
    diags->Error(DiagnosticCode::kTooLarge, loops_.empty() ? Span{} : loops_[0].name_span,
                 "there are more than " + std::to_string(kMaxTableEntries) +
                     " logical tensors that no template takes together");
    return false;
  }
  const size_t loop = order_[depth];
  std::vector<int64_t> values;
  EvalFailure failure;
  if (!scope_.EvalValues(loops_[loop].range, &values, &failure)) {
    diags->Error(failure.code, failure.span, failure.text + Where());
    return false;
  }
  std::vector<Run> runs;
  for (const Run& run : CompressRuns(values)) {
    const bool whole = (ranged_ >> loop & 1) != 0 && run.step == 1 && run.begin >= 0;
    if (whole) {
      runs.push_back(run);
    } else {
      for (int64_t k = 0; k < run.count; ++k) runs.push_back({run.at(k), 1, 1});
    }
  }
  for (const Run& run : runs) {
    scope_.Set(loop, run.begin);
    if (run.count > 1) {
      box->variables.push_back(loop);
      box->ranges.push_back(run);
    }
    const bool good = Walk(depth + 1, diags, box, visit);
    if (run.count > 1) {
      box->variables.pop_back();
      box->ranges.pop_back();
    }
    if (!good) return false;
  }
  return true;
}

bool LoopBoxes::Box(const NameExpr& name, const NamePlan& plan, const LoopBox& box,
                    Diagnostics* diags, NameBox* out) const {
  std::vector<int64_t> values(name.holes.size());
  bool negative = false;
  for (size_t h = 0; h < name.holes.size(); ++h) {
    if (!Eval(name.holes[h], diags, &values[h])) return false;
    negative |= values[h] < 0;
  }
  if (plan.glued || negative || box.ranges.empty()) {
    out->plain = name.text[0];
    for (size_t h = 0; h < values.size(); ++h) {
      out->plain += std::to_string(values[h]) + name.text[h + 1];
    }
    const NameSkeleton skeleton = SkeletonOf(out->plain);
    out->skeleton = skeleton.text;
    for (const int64_t value : skeleton.slots) out->slots.push_back({value, value + 1, -1});
    return true;
  }
  out->skeleton = plan.skeleton;
  for (const NamePlan::Slot& slot : plan.slots) {
    const int64_t begin = slot.hole < 0 ? slot.constant : values[static_cast<size_t>(slot.hole)];
    NameBox::Slot boxed{begin, begin + 1, -1};
    for (size_t r = 0; slot.hole >= 0 && r < box.ranges.size(); ++r) {
      if (AsName(name.holes[static_cast<size_t>(slot.hole)]) != scope_.name(box.variables[r])) {
        continue;
      }
      boxed.range = static_cast<int>(r);
      boxed.end = box.ranges[r].begin + box.ranges[r].count;
    }
    out->slots.push_back(boxed);
  }
  return true;
}

}  // namespace reshard
