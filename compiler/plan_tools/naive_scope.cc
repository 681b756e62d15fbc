#include "compiler/plan_tools/naive_scope.h"

#include <algorithm>

namespace reshard {
namespace {

constexpr size_t kMaxRangeValues = 1'000'000;

bool Fail(std::string* error, std::string text) {
  *error = std::move(text);
  return false;
}

}  // namespace

bool NaiveFileScope::Make(const LayoutSpec& spec, std::string* error) {
  for (const TableSpec& table : spec.tables) tables_[table.name] = &table.values;
  NaiveScope scope(this);
  // Symbols stand after those that they use.
  for (const SymbolSpec& symbol : spec.symbols) {
    const std::optional<int64_t> value = scope.Value(symbol.value, error);
    if (!value) return false;
    symbols_[symbol.name] = *value;
  }
  if (!spec.pipeline) return true;
  for (const std::vector<PipelineSpec::LayerRange>& ranges : spec.pipeline->stages) {
    std::vector<std::pair<int64_t, int64_t>>& stage = stages_.emplace_back();
    for (const PipelineSpec::LayerRange& range : ranges) {
      const std::optional<int64_t> begin = scope.Value(range.begin, error);
      const std::optional<int64_t> end = begin ? scope.Value(range.end, error) : std::nullopt;
      if (!end) return false;
      stage.emplace_back(*begin, *end);
    }
  }
  return true;
}

std::optional<int64_t> NaiveFileScope::Symbol(std::string_view name) const {
  const auto it = symbols_.find(name);
  return it == symbols_.end() ? std::nullopt : std::optional<int64_t>(it->second);
}

const std::vector<int64_t>* NaiveFileScope::Table(std::string_view name) const {
  const auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : it->second;
}

std::optional<int64_t> NaiveFileScope::Pipeline(std::string_view function, int64_t argument,
                                                std::string* error) const {
  if (function == "stage_start") {
    const bool known = argument >= 0 && std::cmp_less(argument, stages_.size());
    if (known && stages_[static_cast<size_t>(argument)].size() == 1) {
      return stages_[static_cast<size_t>(argument)][0].first;
    }
    *error = "stage " + std::to_string(argument) + " is not one range of layers";
    return std::nullopt;
  }
  for (size_t p = 0; p < stages_.size(); ++p) {
    for (size_t i = 0; i < stages_[p].size(); ++i) {
      const auto& [begin, end] = stages_[p][i];
      if (argument < begin || argument >= end) continue;
      if (function == "stage") return static_cast<int64_t>(p);
      return function == "chunk" ? static_cast<int64_t>(i) : begin;
    }
  }
  *error = "no stage has layer " + std::to_string(argument);
  return std::nullopt;
}

std::optional<int64_t> NaiveScope::Variable(std::string_view name) const {
  for (const auto& [local, value] : locals_) {
    if (local == name) return value;
  }
  return file_->Symbol(name);
}

const std::vector<int64_t>* NaiveScope::Table(std::string_view name) const {
  return file_->Table(name);
}

std::optional<int64_t> NaiveScope::Pipeline(std::string_view function, int64_t argument,
                                            std::string* error) const {
  return file_->Pipeline(function, argument, error);
}

std::optional<int64_t> NaiveScope::Value(const Expr& expr, std::string* error) const {
  Span where;
  return Eval(expr, *this, error, &where);
}

bool NaiveScope::Values(const std::vector<Expr>& exprs, std::string* error,
                        std::vector<int64_t>* out) const {
  out->clear();
  for (const Expr& expr : exprs) {
    const std::optional<int64_t> value = Value(expr, error);
    if (!value) return false;
    out->push_back(*value);
  }
  return true;
}

std::optional<std::string> NaiveScope::Name(const NameExpr& name, std::string* error) const {
  if (name.text.empty()) {
    *error = "the name has a syntax error";
    return std::nullopt;
  }
  std::string text = name.text[0];
  for (size_t i = 0; i < name.holes.size(); ++i) {
    const std::optional<int64_t> value = Value(name.holes[i], error);
    if (!value) return std::nullopt;
    text += std::to_string(*value);
    text += name.text[i + 1];
  }
  return text;
}

bool NaiveScope::Range(const RangeExpr& range, std::string* error,
                       std::vector<int64_t>* out) const {
  out->clear();
  for (const RangeExpr::Part& part : range.parts) {
    const std::optional<int64_t> begin = Value(part.begin, error);
    if (!begin) return false;
    if (!part.end) {
      out->push_back(*begin);
      continue;
    }
    const std::optional<int64_t> end = Value(part.end, error);
    const std::optional<int64_t> step = !end        ? end
                                        : part.step ? Value(part.step, error)
                                                    : std::optional<int64_t>(1);
    if (!step) return false;
    if (*step < 1) return Fail(error, "a range has the step " + std::to_string(*step));
    for (int64_t value = *begin; value < *end;) {
      if (out->size() == kMaxRangeValues) return Fail(error, "a range has too many values");
      out->push_back(value);
      if (__builtin_add_overflow(value, *step, &value)) break;
    }
  }
  std::vector<int64_t> sorted = *out;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return true;
  return Fail(error, "a range has a value twice");
}

bool NaiveScope::ForEach(const std::vector<LoopSpec>& loops, std::string* error,
                         const std::function<bool()>& body) {
  return ForEachFrom(loops, 0, error, body);
}

bool NaiveScope::ForEachFrom(const std::vector<LoopSpec>& loops, size_t first, std::string* error,
                             const std::function<bool()>& body) {
  if (first == loops.size()) return body();
  std::vector<int64_t> values;
  if (!Range(loops[first].range, error, &values)) return false;
  for (const int64_t value : values) {
    Push(loops[first].name, value);
    const bool good = ForEachFrom(loops, first + 1, error, body);
    Pop();
    if (!good) return false;
  }
  return true;
}

}  // namespace reshard
