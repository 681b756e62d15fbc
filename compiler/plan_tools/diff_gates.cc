#include "compiler/plan_tools/diff_gates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// 128 bits: products of figures fit.
__extension__ typedef __int128 Wide;

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

constexpr int64_t kPercentUnits = 1'000;  // of a percent

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Reads the digits that `text` starts with and removes them.
std::optional<int64_t> ReadDigits(std::string_view* text) {
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text->size() && IsDigit((*text)[digits]); ++digits) {
    if (digits == 15) return std::nullopt;
    value = value * 10 + ((*text)[digits] - '0');
  }
  if (digits == 0) return std::nullopt;
  text->remove_prefix(digits);
  return value;
}

// "5%" or "0.125%" in thousandths of a percent.
std::optional<int64_t> ParsePercent(std::string_view text) {
  const std::optional<int64_t> whole = ReadDigits(&text);
  if (!whole || *whole > 1'000'000'000) return std::nullopt;
  int64_t value = *whole * kPercentUnits;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    int64_t unit = kPercentUnits / 10;
    if (text.empty() || !IsDigit(text.front())) return std::nullopt;
    for (; !text.empty() && IsDigit(text.front()); text.remove_prefix(1), unit /= 10) {
      if (unit == 0) return std::nullopt;
      value += (text.front() - '0') * unit;
    }
  }
  if (text != "%") return std::nullopt;
  return value;
}

std::optional<int64_t> ParseLimit(FigureUnit unit, std::string_view text) {
  if (text.empty() || !IsDigit(text.front())) return std::nullopt;
  switch (unit) {
    case FigureUnit::kTime:
      return ParseNanoseconds(text);
    case FigureUnit::kBytes:
    case FigureUnit::kMemory:
      return ParseBytes(text);
    case FigureUnit::kCount: {
      const std::optional<int64_t> value = ReadDigits(&text);
      return text.empty() ? value : std::nullopt;
    }
  }
  return std::nullopt;
}

const char* LimitExample(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::kTime:
      return "+5%, +20us or 4s";
    case FigureUnit::kBytes:
    case FigureUnit::kMemory:
      return "+1%, +64MiB or 2GB";
    case FigureUnit::kCount:
      return "+1%, +10 or 5000";
  }
  return "";
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
  std::string_view limit = Trim(text.substr(sign + 1));
  bool negative = false;
  if (!limit.empty() && (limit.front() == '+' || limit.front() == '-')) {
    gate.relative = true;
    negative = limit.front() == '-';
    limit.remove_prefix(1);
  }
  gate.percent = gate.relative && !limit.empty() && limit.back() == '%';
  const std::optional<int64_t> value =
      gate.percent ? ParsePercent(limit) : ParseLimit(figure->unit, limit);
  if (!value) {
    return BadGate(text, std::string("has no limit such as ") + LimitExample(figure->unit));
  }
  gate.limit = negative ? -*value : *value;
  return gate;
}

// The figure's limit in 1/(100 * kPercentUnits) of its unit, so that percentages are exact.
Wide ScaledLimit(const Gate& gate, int64_t before) {
  constexpr Wide kScale = 100 * kPercentUnits;
  if (gate.percent) return static_cast<Wide>(before) * (kScale + gate.limit);
  return (static_cast<Wide>(gate.relative ? before : 0) + gate.limit) * kScale;
}

GateResult JudgeFigure(const Gate& gate, const PlanDiff& diff) {
  constexpr Wide kScale = 100 * kPercentUnits;
  const Figure& figure = diff.figure(gate.figure);
  const Wide limit = ScaledLimit(gate, figure.before);
  const Wide value = static_cast<Wide>(figure.after) * kScale;
  GateResult result;
  result.gate = gate.text;
  result.passed = gate.above ? value <= limit : value >= limit;
  result.reason = std::string(figure.title) + " " + FormatFigure(figure.unit, figure.before) +
                  " to " + FormatFigure(figure.unit, figure.after);
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
