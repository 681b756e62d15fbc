// EvalContext: one point of a template at which names and values are evaluated.
//
// Each variable has a run of values. Runs of more than one value are kept symbolic: names must be
// affine in them and lead to one super-tensor. Where that does not hold for a whole run, evaluation
// asks for the run to be split and tried again, part by part; nothing has been reported then.
#ifndef RESHARD_COMPILER_LAYOUT_EVAL_CONTEXT_H_
#define RESHARD_COMPILER_LAYOUT_EVAL_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/name_skeleton.h"
#include "compiler/layout/ranges.h"
#include "compiler/layout/scope.h"
#include "compiler/layout/view.h"

namespace reshard {

enum class Outcome : uint8_t { kDone, kSplit, kFailed };

struct EvalContext {
  VarScope* scope = nullptr;
  std::vector<Run> runs;  // by variable; the scope has each at its first value
  // After kSplit: cut the run of `split_variable` after its first `split_count` values.
  size_t split_variable = 0;
  int64_t split_count = 0;
  PieceBudget* budget = nullptr;
  Diagnostics* diags = nullptr;
  std::function<std::string()> where;  // " (rank 5, l=3)", for messages

  void Bind(size_t variable, const Run& run) {
    runs[variable] = run;
    scope->Set(variable, run.begin);
  }
  Outcome Split(size_t variable, int64_t count) {
    split_variable = variable;
    split_count = count;
    return Outcome::kSplit;
  }
  Outcome Fail(DiagnosticCode code, Span span, const std::string& text) {
    diags->Error(code, span, text + where());
    return Outcome::kFailed;
  }
  // Only for expressions that depend on no symbolic run.
  Outcome Eval(const Expr& expr, int64_t* value);
};

// A name of a template, prepared once.
struct TemplateName {
  const NameExpr* expr = nullptr;
  NamePlan plan;
  std::vector<VarMask> masks;  // per hole: the variables it depends on
  std::vector<int> plain;      // per hole: the variable that it is, or -1
  VarMask mask = 0;            // of all holes

  TemplateName() = default;
  TemplateName(const NameExpr& name, const VarScope& scope);
};

// base + sum(k_v * coef): the value of a hole with variable v at its value number k_v.
struct AffineHole {
  int64_t base = 0;
  std::vector<std::pair<size_t, int64_t>> coefs;  // rising by variable, none is 0
};
Outcome EvalHoles(const TemplateName& name, EvalContext* context, std::vector<AffineHole>* holes);

// The tensors that a name leads to: of one super-tensor, each loop axis affine in the variables.
struct ResolvedTensor {
  SuperId super = 0;
  std::vector<AffineHole> axes;
};
Outcome ResolveTensor(const TemplateName& name, const LogicalTable& table, EvalContext* context,
                      ResolvedTensor* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_EVAL_CONTEXT_H_
