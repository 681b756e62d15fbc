#include "compiler/layout/instances.h"

#include <algorithm>
#include <bit>
#include <string>

namespace reshard {
namespace {

// The parts of `a and b and c`, which hold or fail on their own.
void SplitConjunction(const Expr& expr, const ExprNode& node, std::vector<Expr>* out) {
  if (node.op == ExprOp::kAnd) {
    SplitConjunction(expr, node.args[0], out);
    SplitConjunction(expr, node.args[1], out);
    return;
  }
  // Shares ownership of the whole expression's tree.
  out->push_back({std::shared_ptr<const ExprNode>(expr.node, &node), node.span});
}

VarMask Bit(size_t variable) { return VarMask{1} << variable; }

}  // namespace

class Instances::Builder {
 public:
  Builder(const InstanceQuery& query, VarScope* scope, PieceBudget* budget, Diagnostics* diags,
          Instances* out)
      : query_(query),
        scope_(*scope),
        budget_(*budget),
        diags_(*diags),
        out_(*out),
        axes_(query.axis_extents.size()),
        count_(axes_ + query.loops->size()) {}

  bool Build() {
    for (const Expr& clause : *query_.where) {
      if (!clause) return false;
      std::vector<Expr> parts;
      SplitConjunction(clause, *clause.node, &parts);
      for (Expr& part : parts) clauses_.push_back({part, scope_.DependenciesOf(part)});
    }
    for (const LoopSpec& loop : *query_.loops) bounds_.push_back(scope_.DependenciesOf(loop.range));
    out_.fixed_ = query_.fixed;
    out_.variable_count_ = count_;
    for (const Clause& clause : clauses_) out_.fixed_ |= clause.mask & (Bit(axes_) - 1);
    // Each round fixes at least one more loop, or ends.
    while (true) {
      out_.components_.clear();
      VarMask too_many = 0;
      if (!BuildComponents(&too_many)) return false;
      if (too_many == 0) return true;
      out_.fixed_ |= too_many;
    }
  }

 private:
  struct Clause {
    Expr expr;
    VarMask mask = 0;
  };

  bool is_fixed(size_t variable) const { return (out_.fixed_ >> variable & 1) != 0; }

  bool BuildComponents(VarMask* too_many) {
    std::vector<VarMask> groups;
    const auto connect = [&](VarMask mask) {
      if (mask == 0) return;
      for (size_t g = 0; g < groups.size();) {
        if ((groups[g] & mask) == 0) {
          ++g;
          continue;
        }
        mask |= groups[g];
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
      }
      groups.push_back(mask);
    };
    for (size_t v = 0; v < count_; ++v) {
      if (v < axes_ && !is_fixed(v)) continue;
      connect(Bit(v) | (v < axes_ ? 0 : bounds_[v - axes_]));
    }
    for (const Clause& clause : clauses_) connect(clause.mask);
    std::sort(groups.begin(), groups.end(),
              [](VarMask a, VarMask b) { return std::countr_zero(a) < std::countr_zero(b); });
    if (!ConstantsHold()) return !failed_;
    for (const VarMask group : groups) {
      Component component;
      if (!BuildComponent(group, &component, too_many)) return false;
      if (*too_many != 0) return true;
      out_.components_.push_back(std::move(component));
    }
    return true;
  }

  // Clauses without variables. Where one fails, there are no instances: a component without rows.
  bool ConstantsHold() {
    for (const Clause& clause : clauses_) {
      if (clause.mask != 0) continue;
      int64_t value = 0;
      if (!Eval(clause.expr, &value)) return false;
      if (value != 0) continue;
      out_.components_.push_back({});
      return false;
    }
    return true;
  }

  bool Eval(const Expr& expr, int64_t* value) {
    EvalFailure failure;
    if (scope_.EvalInt(expr, value, &failure)) return true;
    return Fail(failure, 0);
  }

  bool Fail(const EvalFailure& failure, VarMask known) {
    std::string where;
    for (size_t v = 0; v < count_; ++v) {
      if ((known >> v & 1) == 0) continue;
      where += (where.empty() ? " (" : ", ") + std::string(scope_.name(v)) + "=" +
               std::to_string(scope_.value(v));
    }
    diags_.Error(failure.code, failure.span, failure.text + where + (where.empty() ? "" : ")"));
    failed_ = true;
    return false;
  }

  // Fixed variables first, then by dependency of loop bounds, then by number.
  std::vector<size_t> OrderOf(VarMask group) const {
    std::vector<size_t> order;
    VarMask placed = 0;
    while (placed != group) {
      size_t next = count_;
      for (size_t v = 0; v < count_; ++v) {
        if ((group >> v & 1) == 0 || (placed >> v & 1) != 0) continue;
        if (v >= axes_ && (bounds_[v - axes_] & ~placed) != 0) continue;
        if (next == count_ || (is_fixed(v) && !is_fixed(next))) next = v;
      }
      if (next == count_) break;
      order.push_back(next);
      placed |= Bit(next);
    }
    return order;
  }

  bool BuildComponent(VarMask group, Component* component, VarMask* too_many) {
    order_ = OrderOf(group);
    // A free variable that a fixed one needs first has to be fixed too.
    bool seen_free = false;
    for (const size_t v : order_) {
      if (is_fixed(v)) {
        if (seen_free) {
          for (const size_t w : order_) {
            if (w == v) break;
            if (!is_fixed(w)) *too_many |= Bit(w);
          }
          return true;
        }
        component->fixed_variables.push_back(v);
      } else {
        seen_free = true;
        component->free_variables.push_back(v);
      }
    }
    // Each clause is tested as soon as its variables are set.
    tests_.assign(order_.size(), {});
    for (const Clause& clause : clauses_) {
      if ((clause.mask & group) == 0) continue;
      size_t last = 0;
      for (size_t i = 0; i < order_.size(); ++i) {
        if ((clause.mask >> order_[i] & 1) != 0) last = i;
      }
      tests_[last].push_back(&clause);
    }
    component_ = component;
    too_many_ = too_many;
    values_.clear();
    return Walk(0, 0);
  }

  // All valid points below the values set so far; at the depth of the fixed variables, one row.
  bool Walk(size_t depth, VarMask known) {
    const size_t fixed_count = component_->fixed_variables.size();
    if (depth == fixed_count && depth < order_.size()) {
      tuples_.clear();
      if (!WalkFrom(depth, known)) return false;
      return tuples_.empty() || AddRow();
    }
    if (depth == order_.size()) {
      component_->rows.push_back({values_, {}});
      return true;
    }
    return WalkFrom(depth, known);
  }

  bool WalkFrom(size_t depth, VarMask known) {
    if (depth == order_.size()) {
      tuples_.insert(tuples_.end(), values_.end() - static_cast<std::ptrdiff_t>(FreeCount()),
                     values_.end());
      return true;
    }
    const size_t v = order_[depth];
    std::vector<int64_t> domain;
    if (!Domain(v, known, &domain)) return false;
    known |= Bit(v);
    for (const int64_t value : domain) {
      if (!budget_.Charge()) return TooLarge();
      scope_.Set(v, value);
      bool holds = true;
      for (const Clause* clause : tests_[depth]) {
        int64_t truth = 0;
        EvalFailure failure;
        if (!scope_.EvalInt(clause->expr, &truth, &failure)) return Fail(failure, known);
        holds = truth != 0;
        if (!holds) break;
      }
      if (!holds) continue;
      values_.push_back(value);
      const bool free_part = depth + 1 > component_->fixed_variables.size();
      const bool good = free_part ? WalkFrom(depth + 1, known) : Walk(depth + 1, known);
      values_.pop_back();
      if (!good || *too_many_ != 0) return good;
    }
    return true;
  }

  size_t FreeCount() const { return component_->free_variables.size(); }

  bool Domain(size_t v, VarMask known, std::vector<int64_t>* values) {
    if (v < axes_) {
      for (int64_t i = 0; i < query_.axis_extents[v]; ++i) values->push_back(i);
      return true;
    }
    EvalFailure failure;
    if (scope_.EvalValues((*query_.loops)[v - axes_].range, values, &failure)) return true;
    return Fail(failure, known);
  }

  bool TooLarge() {
    const Span span = query_.loops->empty() ? Span{} : (*query_.loops)[0].name_span;
    diags_.Error(DiagnosticCode::kTooManyPieces, span,
                 "the loops and conditions of the layout have too many values to try");
    failed_ = true;
    return false;
  }

  // Turns the tuples of free values into one list per variable, if they are all combinations of
  // such lists; otherwise asks for the first free variable to be fixed.
  bool AddRow() {
    const size_t width = FreeCount();
    std::vector<std::vector<int64_t>> lists(width);
    size_t product = 1;
    for (size_t i = 0; i < width; ++i) {
      for (size_t t = i; t < tuples_.size(); t += width) lists[i].push_back(tuples_[t]);
      std::sort(lists[i].begin(), lists[i].end());
      lists[i].erase(std::unique(lists[i].begin(), lists[i].end()), lists[i].end());
      product *= lists[i].size();
      if (product > tuples_.size() / width) break;
    }
    if (product != tuples_.size() / width) {
      *too_many_ |= Bit(component_->free_variables[0]);
      return true;
    }
    Row row{values_, {}};
    for (const std::vector<int64_t>& list : lists) row.free_runs.push_back(CompressRuns(list));
    component_->rows.push_back(std::move(row));
    return true;
  }

  const InstanceQuery& query_;
  VarScope& scope_;
  PieceBudget& budget_;
  Diagnostics& diags_;
  Instances& out_;
  const size_t axes_;
  const size_t count_;
  std::vector<Clause> clauses_;
  std::vector<VarMask> bounds_;  // what each loop's bounds depend on
  bool failed_ = false;
  // Of the component being built:
  Component* component_ = nullptr;
  VarMask* too_many_ = nullptr;
  std::vector<size_t> order_;
  std::vector<std::vector<const Clause*>> tests_;  // by depth
  std::vector<int64_t> values_;                    // of order_, as deep as the walk is
  std::vector<int64_t> tuples_;                    // free values, FreeCount() per tuple
};

bool Instances::Build(const InstanceQuery& query, VarScope* scope, PieceBudget* budget,
                      Diagnostics* diags) {
  return Builder(query, scope, budget, diags, this).Build();
}

bool Instances::empty() const {
  return std::any_of(components_.begin(), components_.end(),
                     [](const Component& component) { return component.rows.empty(); });
}

bool Instances::ForEach(VarScope* scope,
                        const std::function<bool(const InstanceBox&)>& visit) const {
  InstanceBox box(variable_count_);
  // Depth c of the walk chooses a row of component c, then a run of each of its free variables.
  const std::function<bool(size_t, size_t, const Row*)> walk = [&](size_t c, size_t free_index,
                                                                   const Row* row) -> bool {
    if (c == components_.size()) return visit(box);
    const Component& component = components_[c];
    if (row != nullptr) {
      if (free_index == component.free_variables.size()) return walk(c + 1, 0, nullptr);
      const size_t v = component.free_variables[free_index];
      for (const Run& run : row->free_runs[free_index]) {
        box[v] = run;
        scope->Set(v, run.begin);
        if (!walk(c, free_index + 1, row)) return false;
      }
      return true;
    }
    for (const Row& candidate : component.rows) {
      for (size_t i = 0; i < component.fixed_variables.size(); ++i) {
        const size_t v = component.fixed_variables[i];
        box[v] = {candidate.fixed_values[i], 1, 1};
        scope->Set(v, candidate.fixed_values[i]);
      }
      if (!walk(c, 0, &candidate)) return false;
    }
    return true;
  };
  return walk(0, 0, nullptr);
}

}  // namespace reshard
