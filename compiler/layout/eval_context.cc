#include "compiler/layout/eval_context.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// The variables of `mask` whose runs have more than one value.
std::vector<size_t> SymbolicIn(VarMask mask, const EvalContext& context) {
  std::vector<size_t> symbolic;
  for (size_t v = 0; v < context.runs.size(); ++v) {
    if ((mask >> v & 1) != 0 && context.runs[v].count > 1) symbolic.push_back(v);
  }
  return symbolic;
}

Outcome EvalAt(const Expr& expr, EvalContext* context, int64_t* value) {
  EvalFailure failure;
  if (context->scope->EvalInt(expr, value, &failure)) return Outcome::kDone;
  return context->Fail(failure.code, failure.span, failure.text);
}

// Measures the coefficients of one hole and proves them at every point of the symbolic runs.
class HoleProbe {
 public:
  HoleProbe(const Expr& expr, std::vector<size_t> variables, EvalContext* context)
      : expr_(expr), variables_(std::move(variables)), context_(*context) {}

  Outcome Measure(AffineHole* hole) {
    const Outcome outcome = MeasureAndProve(hole);
    for (const size_t v : variables_) context_.scope->Set(v, context_.runs[v].begin);
    return outcome;
  }

 private:
  Outcome MeasureAndProve(AffineHole* hole) {
    Outcome outcome = EvalAt(expr_, &context_, &hole->base);
    for (size_t i = 0; i < variables_.size() && outcome == Outcome::kDone; ++i) {
      outcome = Walk(variables_[i], hole);
    }
    if (outcome != Outcome::kDone || variables_.size() < 2) return outcome;
    return Prove(0, hole->base, *hole);
  }

  // One variable alone: its coefficient, or the longest start of its run that has one.
  Outcome Walk(size_t v, AffineHole* hole) {
    const Run& run = context_.runs[v];
    std::optional<int64_t> coef, expected;
    for (int64_t k = 1; k < run.count; ++k) {
      if (!context_.budget->Charge()) return TooLarge();
      context_.scope->Set(v, run.at(k));
      int64_t value = 0;
      if (const Outcome o = EvalAt(expr_, &context_, &value); o != Outcome::kDone) return o;
      if (k == 1) coef = CheckedSub(value, hole->base);
      expected = coef ? CheckedAdd(k == 1 ? hole->base : *expected, *coef) : std::nullopt;
      if (!expected || *expected != value) return context_.Split(v, k);
    }
    context_.scope->Set(v, run.begin);
    if (*coef != 0) hole->coefs.emplace_back(v, *coef);
    return Outcome::kDone;
  }

  Outcome Prove(size_t index, int64_t expected, const AffineHole& hole) {
    if (index == variables_.size()) {
      if (!context_.budget->Charge()) return TooLarge();
      int64_t value = 0;
      if (const Outcome o = EvalAt(expr_, &context_, &value); o != Outcome::kDone) return o;
      return value == expected ? Outcome::kDone : context_.Split(variables_[0], 1);
    }
    const size_t v = variables_[index];
    int64_t coef = 0;
    for (const auto& [variable, c] : hole.coefs) coef = variable == v ? c : coef;
    for (int64_t k = 0; k < context_.runs[v].count; ++k) {
      context_.scope->Set(v, context_.runs[v].at(k));
      const std::optional<int64_t> shift = CheckedMul(coef, k);
      const std::optional<int64_t> next = shift ? CheckedAdd(expected, *shift) : std::nullopt;
      if (!next) return context_.Split(v, 1);
      if (const Outcome o = Prove(index + 1, *next, hole); o != Outcome::kDone) return o;
    }
    return Outcome::kDone;
  }

  Outcome TooLarge() {
    return context_.Fail(DiagnosticCode::kTooManyPieces, expr_.span,
                         "a name needs too many values to be understood");
  }

  const Expr& expr_;
  const std::vector<size_t> variables_;
  EvalContext& context_;
};

int64_t CoefOf(const AffineHole& hole, size_t variable) {
  for (const auto& [v, coef] : hole.coefs) {
    if (v == variable) return coef;
  }
  return 0;
}

// The value of a hole with all its variables at their last values, or nullopt on overflow.
std::optional<int64_t> LastValue(const AffineHole& hole, const EvalContext& context, int sign) {
  std::optional<int64_t> value = hole.base;
  for (const auto& [v, coef] : hole.coefs) {
    if ((coef > 0) != (sign > 0)) continue;
    const std::optional<int64_t> shift = CheckedMul(coef, context.runs[v].count - 1);
    value = value && shift ? CheckedAdd(*value, *shift) : std::nullopt;
  }
  return value;
}

// How many values of variable v keep a hole inside [begin, end), with other variables at their
// first values.
int64_t CountInside(const AffineHole& hole, size_t v, int64_t count, int64_t begin, int64_t end) {
  const int64_t coef = CoefOf(hole, v);
  if (coef == 0) return count;
  if (coef == std::numeric_limits<int64_t>::min()) return 1;
  const int64_t room = coef > 0 ? end - 1 - hole.base : hole.base - begin;
  return std::min(count, room / (coef > 0 ? coef : -coef) + 1);
}

using Entry = LogicalTable::Entry;

class Resolver {
 public:
  Resolver(const TemplateName& name, const LogicalTable& table, EvalContext* context,
           ResolvedTensor* out)
      : name_(name), table_(table), context_(*context), out_(*out) {}

  Outcome Resolve() {
    if (const Outcome o = EvalHoles(name_, &context_, &holes_); o != Outcome::kDone) return o;
    bool symbolic = false;
    bool negative = false;
    for (const AffineHole& hole : holes_) {
      symbolic |= !hole.coefs.empty();
      const std::optional<int64_t> lowest = LastValue(hole, context_, -1);
      negative |= !lowest || *lowest < 0;
    }
    if (!name_.plan.glued && !negative) {
      const auto it = table_.by_skeleton.find(name_.plan.skeleton);
      if (it != table_.by_skeleton.end()) {
        context_.budget->Charge(static_cast<int64_t>(it->second.size() / 16));
        for (const Entry& entry : it->second) {
          if (Matches(entry)) return Use(entry);
        }
      }
    }
    // No template knows the first name: it stands alone, if at all.
    if (symbolic) return SplitFirst();
    std::string text = name_.expr->text[0];
    for (size_t h = 0; h < holes_.size(); ++h) {
      text += std::to_string(holes_[h].base) + name_.expr->text[h + 1];
    }
    const std::optional<LogicalRef> ref = table_.Find(text);
    if (!ref) {
      return context_.Fail(
          DiagnosticCode::kUnknownTensor, name_.expr->span,
          "no logical tensor is called '" + text + "'" + DidYouMean(text, table_.SampleNames()));
    }
    out_.super = ref->super;
    for (const int64_t value : ref->loop_values) out_.axes.push_back({value, {}});
    return Outcome::kDone;
  }

 private:
  Outcome SplitFirst() {
    for (const AffineHole& hole : holes_) {
      if (!hole.coefs.empty()) return context_.Split(hole.coefs[0].first, 1);
    }
    return Outcome::kFailed;
  }

  int64_t SlotValue(size_t slot) const {
    const NamePlan::Slot& plan = name_.plan.slots[slot];
    return plan.hole < 0 ? plan.constant : holes_[static_cast<size_t>(plan.hole)].base;
  }

  // Whether the entry knows the first name.
  bool Matches(const Entry& entry) const {
    for (size_t i = 0; i < entry.slots.size(); ++i) {
      const int64_t value = SlotValue(i);
      if (value < entry.slots[i].begin || value >= entry.slots[i].end) return false;
    }
    return true;
  }

  // Uses an entry that knows the first name, if it knows all of them.
  Outcome Use(const Entry& entry) {
    out_.super = entry.super;
    for (const int64_t value : entry.base) out_.axes.push_back({value, {}});
    VarMask used = 0;
    for (size_t i = 0; i < entry.slots.size(); ++i) {
      const Entry::Slot& slot = entry.slots[i];
      const int hole_index = name_.plan.slots[i].hole;
      AffineHole hole{SlotValue(i), {}};
      if (hole_index >= 0) hole = holes_[static_cast<size_t>(hole_index)];
      for (const auto& [v, coef] : hole.coefs) {
        const int64_t count = context_.runs[v].count;
        const int64_t inside = CountInside(hole, v, count, slot.begin, slot.end);
        if (inside < count) return context_.Split(v, inside);
        // A variable that moves along two axes at once walks a diagonal, which is no box.
        if ((used >> v & 1) != 0) return context_.Split(v, 1);
        used |= VarMask{1} << v;
      }
      const std::optional<int64_t> high = LastValue(hole, context_, 1);
      const std::optional<int64_t> low = LastValue(hole, context_, -1);
      if (!high || !low || *low < slot.begin || *high >= slot.end) {
        return context_.Split(hole.coefs[0].first, 1);
      }
      if (slot.axis < 0) continue;
      AffineHole& axis = out_.axes[static_cast<size_t>(slot.axis)];
      axis.base += hole.base - slot.begin;
      axis.coefs = std::move(hole.coefs);
    }
    return Outcome::kDone;
  }

  const TemplateName& name_;
  const LogicalTable& table_;
  EvalContext& context_;
  ResolvedTensor& out_;
  std::vector<AffineHole> holes_;
};

}  // namespace

Outcome EvalContext::Eval(const Expr& expr, int64_t* value) { return EvalAt(expr, this, value); }

TemplateName::TemplateName(const NameExpr& name, const VarScope& scope)
    : expr(&name), plan(PlanName(name)) {
  for (const Expr& hole : name.holes) {
    masks.push_back(scope.DependenciesOf(hole));
    mask |= masks.back();
    const std::optional<std::string_view> variable = AsName(hole);
    const std::optional<size_t> number = variable ? scope.Find(*variable) : std::nullopt;
    plain.push_back(number ? static_cast<int>(*number) : -1);
  }
}

Outcome EvalHoles(const TemplateName& name, EvalContext* context, std::vector<AffineHole>* holes) {
  holes->clear();
  for (size_t h = 0; h < name.masks.size(); ++h) {
    AffineHole hole;
    if (name.plain[h] >= 0) {
      const auto v = static_cast<size_t>(name.plain[h]);
      hole.base = context->runs[v].begin;
      if (context->runs[v].count > 1) hole.coefs.emplace_back(v, context->runs[v].step);
    } else {
      HoleProbe probe(name.expr->holes[h], SymbolicIn(name.masks[h], *context), context);
      if (const Outcome o = probe.Measure(&hole); o != Outcome::kDone) return o;
    }
    holes->push_back(std::move(hole));
  }
  return Outcome::kDone;
}

Outcome ResolveTensor(const TemplateName& name, const LogicalTable& table, EvalContext* context,
                      ResolvedTensor* out) {
  *out = {};
  return Resolver(name, table, context, out).Resolve();
}

}  // namespace reshard
