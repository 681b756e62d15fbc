// Integer ranges of the layout language, evaluated: plain values, and arithmetic runs of them.
#ifndef RESHARD_COMPILER_LAYOUT_RANGES_H_
#define RESHARD_COMPILER_LAYOUT_RANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/expr.h"

namespace reshard {

// begin, begin + step, ...: `count` values, count >= 1; step >= 1 unless a caller says otherwise.
struct Run {
  int64_t begin = 0;
  int64_t step = 1;
  int64_t count = 1;
  int64_t at(int64_t k) const { return begin + k * step; }
  bool operator==(const Run&) const = default;
};

// Why something could not be evaluated: reported once the caller has said where it happened.
struct EvalFailure {
  DiagnosticCode code{};
  Span span;
  std::string text;
};

// The values in the order written, at most kMaxLoopValues, none twice.
[[nodiscard]] bool EvalRange(const RangeExpr& range, const ExprEnv& env,
                             std::vector<int64_t>* values, EvalFailure* failure);

// Cuts `values`, in their order, into runs of rising values with equal steps; greedy, so a plain
// range is one run.
std::vector<Run> CompressRuns(const std::vector<int64_t>& values);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_RANGES_H_
