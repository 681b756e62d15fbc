#include "compiler/layout/ranges.h"

#include <algorithm>

#include "compiler/layout/limits.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

struct Bounds {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t step = 1;
};

bool EvalPart(const RangeExpr::Part& part, const ExprEnv& env, Bounds* bounds,
              EvalFailure* failure) {
  const auto eval = [&](const Expr& expr, int64_t* value) {
    const std::optional<int64_t> result = Eval(expr, env, &failure->text, &failure->span);
    failure->code = DiagnosticCode::kEvaluation;
    if (result) *value = *result;
    return result.has_value();
  };
  if (!eval(part.begin, &bounds->begin)) return false;
  if (!part.end) {
    const std::optional<int64_t> after = CheckedAdd(bounds->begin, 1);
    if (!after) {
      *failure = {DiagnosticCode::kBadRange, part.begin.span, "the value does not fit 64 bits"};
      return false;
    }
    bounds->end = *after;
    return true;
  }
  if (!eval(part.end, &bounds->end)) return false;
  if (part.step && !eval(part.step, &bounds->step)) return false;
  if (bounds->step < 1) {
    *failure = {DiagnosticCode::kBadRange, part.step.span,
                "step " + std::to_string(bounds->step) + " of a range, expected at least 1"};
    return false;
  }
  return true;
}

}  // namespace

bool EvalRange(const RangeExpr& range, const ExprEnv& env, std::vector<int64_t>* values,
               EvalFailure* failure) {
  values->clear();
  for (const RangeExpr::Part& part : range.parts) {
    Bounds bounds;
    if (!EvalPart(part, env, &bounds, failure)) return false;
    if (bounds.end <= bounds.begin) continue;
    const std::optional<int64_t> width = CheckedSub(bounds.end, bounds.begin);
    const int64_t left = kMaxLoopValues - static_cast<int64_t>(values->size());
    if (!width || (*width - 1) / bounds.step + 1 > left) {
      *failure = {DiagnosticCode::kTooLarge, range.span,
                  "a range has more than " + std::to_string(kMaxLoopValues) + " values"};
      return false;
    }
    const int64_t count = (*width - 1) / bounds.step + 1;
    for (int64_t k = 0; k < count; ++k) values->push_back(bounds.begin + k * bounds.step);
  }
  if (range.parts.size() < 2) return true;
  std::vector<int64_t> sorted = *values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return true;
  *failure = {DiagnosticCode::kBadRange, range.span,
              "value " + std::to_string(*twice) + " is in the range twice"};
  return false;
}

std::vector<Run> CompressRuns(const std::vector<int64_t>& values) {
  std::vector<Run> runs;
  for (size_t i = 0; i < values.size();) {
    Run run{values[i], 1, 1};
    size_t end = i + 1;
    if (end < values.size() && values[end] > values[i]) {
      const std::optional<int64_t> step = CheckedSub(values[end], values[i]);
      while (step && end < values.size() && values[end] > values[end - 1] &&
             CheckedSub(values[end], values[end - 1]) == step) {
        ++end;
      }
      // Two values far apart are no run unless a third agrees.
      const bool run_of_two = end - i == 2 && *step != 1 && end < values.size();
      if (step && end - i > 1 && !run_of_two)
        run = {values[i], *step, static_cast<int64_t>(end - i)};
      if (run.count == 1) end = i + 1;
    }
    runs.push_back(run);
    i = end;
  }
  return runs;
}

}  // namespace reshard
