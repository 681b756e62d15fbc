// Gates: limits on what may change between two plans, for CI.
//
//   gates  = gate { "," gate }
//   gate   = figure ( ">" | "<" ) limit   fails when the second plan's figure is beyond the limit
//          | "coverage"                   fails when elements are delivered to nobody any more
//          | "copies"                     fails when elements are delivered in fewer copies
//          | "layouts"                    fails when the train or infer layout has changed
//   limit  = [ "+" | "-" ] number [ unit ]    with a sign relative to the first plan, else absolute
//   number = digit { digit } [ "." digit { digit } ]
//   unit   = "%"                              only with a sign; up to three decimals
//          | "ns" | "us" | "ms" | "s"         for times, which need one
//          | "B" | "kB" | "MB" | "GB" | "TB" | "KiB" | "MiB" | "GiB" | "TiB"
//                                            for bytes, which are meant without
//
// With its unit a number is a whole one of nanoseconds or bytes; counts have no unit. Spaces may
// stand around each part. Figures: diff_figures.def. Exact integer arithmetic decides.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_DIFF_GATES_H_
#define RESHARD_COMPILER_PLAN_TOOLS_DIFF_GATES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan_tools/gate_limit.h"
#include "compiler/plan_tools/plan_diff.h"
#include "runtime/base/status.h"

namespace reshard {

enum class GateKind : uint8_t { kFigure, kCoverage, kCopies, kLayouts };

struct Gate {
  std::string text;  // as it was written
  GateKind kind = GateKind::kFigure;
  FigureName figure{};
  bool above = true;  // fails above the limit, else below it
  GateLimit limit;
};

StatusOr<std::vector<Gate>> ParseGates(std::string_view text);

struct GateResult {
  std::string gate;
  bool passed = true;
  std::string reason;  // what was found: "time 3.100 s to 3.400 s"
};
std::vector<GateResult> JudgeGates(const std::vector<Gate>& gates, const PlanDiff& diff);

// A figure in its unit, for people.
std::string FormatFigure(FigureUnit unit, int64_t value);
// Not rounded: "25,600 ns".
std::string ExactFigure(FigureUnit unit, int64_t value);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_DIFF_GATES_H_
