#include "compiler/plan_tools/diff_gates.h"

#include <algorithm>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

struct KnownFigure {
  FigureName name;
  std::string_view text;
  FigureUnit unit;
};
constexpr KnownFigure kFigures[] = {
#define RESHARD_FIGURE(name, text, unit, title) {FigureName::name, text, FigureUnit::unit},
#include "compiler/plan_tools/diff_figures.def"
#undef RESHARD_FIGURE
};

// Gates without a limit.
constexpr std::pair<std::string_view, GateKind> kWords[] = {{"coverage", GateKind::kCoverage},
                                                            {"copies", GateKind::kCopies},
                                                            {"layouts", GateKind::kLayouts}};

std::string_view Trim(std::string_view text) {
  text = WithoutSpaces(text);
  while (!text.empty() && IsGateSpace(text.back())) text.remove_suffix(1);
  return text;
}

Status BadGate(std::string_view gate, const std::string& what) {
  return Status(StatusCode::kInvalidArgument, "gate '" + std::string(gate) + "' " + what);
}

StatusOr<Gate> ParseGate(std::string_view text) {
  Gate gate;
  gate.text = std::string(text);
  for (const auto& [word, kind] : kWords) {
    if (text != word) continue;
    gate.kind = kind;
    return gate;
  }
  const size_t sign = text.find_first_of("<>");
  const std::string_view name = Trim(text.substr(0, sign));
  const KnownFigure* figure = nullptr;
  std::vector<std::string> names;
  for (const auto& [word, kind] : kWords) names.emplace_back(word);
  for (const KnownFigure& known : kFigures) {
    names.emplace_back(known.text);
    if (known.text == name) figure = &known;
  }
  if (figure == nullptr) {
    return BadGate(text, "names no figure" + DidYouMean(name, names));
  }
  if (sign == std::string_view::npos) return BadGate(text, "has no '>' or '<' and limit");
  gate.figure = figure->name;
  gate.above = text[sign] == '>';
  const StatusOr<GateLimit> limit = ParseGateLimit(figure->unit, Trim(text.substr(sign + 1)));
  if (!limit.ok()) return BadGate(text, limit.status().message());
  gate.limit = *limit;
  return gate;
}

// Figures are compared in 1/kScale of their units, so that percentages are exact.
constexpr Wide kScale = 100 * kPercentUnits;

Wide ScaledLimit(const GateLimit& limit, int64_t before) {
  if (limit.percent) return static_cast<Wide>(before) * (kScale + limit.value);
  return (static_cast<Wide>(limit.relative ? before : 0) + limit.value) * kScale;
}

// The last whole value that passes, exactly: "at most 25,599 ns". No figure is below 0.
std::string LimitText(FigureUnit unit, bool above, Wide scaled) {
  Wide whole = scaled / kScale;
  if (above && scaled % kScale < 0) --whole;
  if (!above && scaled % kScale > 0) ++whole;
  if (above && whole < 0) return "nothing";
  // Beyond what any figure can be.
  constexpr Wide kMost = INT64_MAX;
  whole = std::min(whole, kMost);
  return (above ? "at most " : "at least ") + ExactFigure(unit, static_cast<int64_t>(whole));
}

GateResult JudgeFigure(const Gate& gate, const PlanDiff& diff) {
  const Figure& figure = diff.figure(gate.figure);
  const Wide limit = ScaledLimit(gate.limit, figure.before);
  const Wide value = static_cast<Wide>(figure.after) * kScale;
  GateResult result;
  result.gate = gate.text;
  result.passed = gate.above ? value <= limit : value >= limit;
  std::string before = FormatFigure(figure.unit, figure.before);
  std::string after = FormatFigure(figure.unit, figure.after);
  // Rounded texts must not hide what has decided.
  if (!result.passed || (figure.changed() && before == after)) {
    before = ExactFigure(figure.unit, figure.before);
    after = ExactFigure(figure.unit, figure.after);
  }
  result.reason = std::string(figure.title) + " " + before + " to " + after;
  if (figure.changed() && figure.before != 0) {
    result.reason += ", " + FormatChange(static_cast<double>(figure.after - figure.before) /
                                         static_cast<double>(figure.before));
  }
  if (!result.passed) {
    result.reason += "; " + LimitText(figure.unit, gate.above, limit) + " would pass";
  }
  return result;
}

// "2 tensors", and the names of the first changes that `counts` counts tensors of.
template <class Counts>
std::string TensorsOf(const PlanDiff& diff, const Counts& counts) {
  constexpr int kShownNames = 3;
  int64_t tensors = 0;
  int changes = 0;
  std::string names;
  for (const TensorChange& change : diff.tensors) {
    if (counts(change) == 0) continue;
    tensors += counts(change);
    if (++changes <= kShownNames) names += (changes == 1 ? "" : ", ") + change.name;
  }
  if (tensors == 0) return "";
  if (changes > kShownNames) names += ", ...";
  return FormatCount(tensors) + (tensors == 1 ? " tensor" : " tensors") + " (" + names + ")";
}

// A gate for elements that nobody gets any more, or of which there are fewer copies.
GateResult JudgeCoverage(const Gate& gate, const PlanDiff& diff) {
  const bool copies = gate.kind == GateKind::kCopies;
  const std::string lost = TensorsOf(diff, [](const TensorChange& c) { return c.lost; });
  const std::string fewer = TensorsOf(diff, [](const TensorChange& c) { return c.fewer_copies; });
  const std::string unknown = TensorsOf(
      diff, [](const TensorChange& c) { return c.coverage_known ? int64_t{0} : c.count; });
  GateResult result;
  result.gate = gate.text;
  result.passed = unknown.empty() && (copies ? fewer.empty() : lost.empty());
  if (!copies && !lost.empty()) {
    result.reason = "elements are delivered to nobody any more, of " + lost;
  } else if (copies && !fewer.empty()) {
    result.reason = "elements are delivered in fewer copies, of " + fewer;
  } else if (!unknown.empty()) {
    result.reason = "cannot be told, parts are too many, of " + unknown;
  } else if (!fewer.empty()) {
    result.reason = "every element is still delivered; in fewer copies, of " + fewer;
  } else {
    result.reason = "every element is still delivered, in as many copies at least";
  }
  return result;
}

GateResult JudgeLayouts(const Gate& gate, const PlanDiff& diff) {
  GateResult result;
  result.gate = gate.text;
  for (const InputChange& input : diff.inputs) {
    if (input.name == "topo" || !input.changed()) continue;
    result.passed = false;
    result.reason += (result.reason.empty() ? "" : ", ") + std::string(input.name) + " has changed";
  }
  if (result.passed) result.reason = "both layouts are the same";
  return result;
}

}  // namespace

StatusOr<std::vector<Gate>> ParseGates(std::string_view text) {
  std::vector<Gate> gates;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    StatusOr<Gate> gate = ParseGate(Trim(text.substr(begin, end - begin)));
    if (!gate.ok()) return gate.status();
    gates.push_back(*std::move(gate));
    begin = end + 1;
  }
  return gates;
}

std::vector<GateResult> JudgeGates(const std::vector<Gate>& gates, const PlanDiff& diff) {
  std::vector<GateResult> results;
  for (const Gate& gate : gates) {
    switch (gate.kind) {
      case GateKind::kFigure:
        results.push_back(JudgeFigure(gate, diff));
        break;
      case GateKind::kCoverage:
      case GateKind::kCopies:
        results.push_back(JudgeCoverage(gate, diff));
        break;
      case GateKind::kLayouts:
        results.push_back(JudgeLayouts(gate, diff));
        break;
    }
  }
  return results;
}

std::string ExactFigure(FigureUnit unit, int64_t value) {
  switch (unit) {
    case FigureUnit::kTime:
      return FormatCount(value) + " ns";
    case FigureUnit::kBytes:
    case FigureUnit::kMemory:
      return FormatCount(value) + " B";
    case FigureUnit::kCount:
      break;
  }
  return FormatCount(value);
}

std::string FormatFigure(FigureUnit unit, int64_t value) {
  switch (unit) {
    case FigureUnit::kTime:
      return FormatNanoseconds(value);
    case FigureUnit::kBytes:
      return FormatBytes(value);
    case FigureUnit::kMemory:
      return FormatBinary(value);
    case FigureUnit::kCount:
      return FormatCount(value);
  }
  return "";
}

}  // namespace reshard
