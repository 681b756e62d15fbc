#include "compiler/layout/scope.h"

#include <algorithm>

namespace reshard {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

// Of [begin, end).
std::string MissingLayers(int64_t begin, int64_t end) {
  if (end - begin == 1) return "layer " + Text(begin) + " is in no stage";
  return "layers " + Text(begin) + " to " + Text(end - 1) + " are in no stage";
}

}  // namespace

bool SpecScope::Build(const LayoutSpec& spec, Diagnostics* diags) {
  spec_ = &spec;
  for (const TableSpec& table : spec.tables) tables_[table.name] = &table;
  return EvalSymbols(diags);
}

bool SpecScope::EvalSymbols(Diagnostics* diags) {
  // A symbol is evaluated once all that it uses are; the reader has refused cycles.
  const std::vector<SymbolSpec>& symbols = spec_->symbols;
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < symbols.size(); ++i) index[symbols[i].name] = i;
  std::vector<std::vector<size_t>> users(symbols.size());
  std::vector<size_t> missing(symbols.size(), 0);
  std::vector<size_t> ready;
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (const std::string& name : NamesIn(symbols[i].value)) {
      const auto used = index.find(name);
      if (used == index.end()) continue;
      users[used->second].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  bool good = true;
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    const SymbolSpec& symbol = symbols[ready[done]];
    std::string error;
    Span where;
    const std::optional<int64_t> value = Eval(symbol.value, *this, &error, &where);
    // What uses a symbol that failed would fail for the same reason: stop at the first.
    if (!value) {
      diags->Error(DiagnosticCode::kEvaluation, where, error + " in symbol '" + symbol.name + "'");
      return false;
    }
    symbols_[symbol.name] = *value;
    for (const size_t user : users[ready[done]]) {
      if (--missing[user] == 0) ready.push_back(user);
    }
  }
  if (done < symbols.size()) {
    diags->Error(DiagnosticCode::kCycle, spec_->span,
                 "the symbols depend on each other in a circle");
    good = false;
  }
  return good;
}

bool SpecScope::BuildPipeline(Diagnostics* diags) {
  if (!spec_->pipeline) return true;
  const PipelineSpec& pipeline = *spec_->pipeline;
  stage_count_ = pipeline.stages.size();
  stage_starts_.resize(stage_count_);
  for (size_t stage = 0; stage < stage_count_; ++stage) {
    for (const PipelineSpec::LayerRange& range : pipeline.stages[stage]) {
      std::string error;
      Span where;
      const std::optional<int64_t> begin = Eval(range.begin, *this, &error, &where);
      const std::optional<int64_t> end =
          begin ? Eval(range.end, *this, &error, &where) : std::nullopt;
      if (!end) {
        diags->Error(DiagnosticCode::kEvaluation, where, error);
        return false;
      }
      if (*begin < 0 || *end < *begin) {
        diags->Error(DiagnosticCode::kPipelineLayers, range.span,
                     "stage " + std::to_string(stage) + " has layers [" + Text(*begin) + ", " +
                         Text(*end) + "), expected 0 <= first <= last");
        return false;
      }
      const auto chunk = static_cast<int64_t>(stage_starts_[stage].size());
      stage_starts_[stage].push_back(*begin);
      if (*begin == *end) continue;
      layers_.push_back({*begin, *end, static_cast<int64_t>(stage), chunk, range.span});
    }
  }
  std::stable_sort(layers_.begin(), layers_.end(),
                   [](const LayerRange& a, const LayerRange& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < layers_.size(); ++i) {
    const LayerRange& before = layers_[i - 1];
    const LayerRange& after = layers_[i];
    if (before.end == after.begin) continue;
    const std::string what = before.end < after.begin
                                 ? MissingLayers(before.end, after.begin)
                                 : "layer " + Text(after.begin) + " is in stage " +
                                       Text(before.stage) + " and in stage " + Text(after.stage);
    diags->Error(DiagnosticCode::kPipelineLayers, after.span, what)
        .notes.push_back({before.span, "stage " + Text(before.stage) + " has layers [" +
                                           Text(before.begin) + ", " + Text(before.end) + ")"});
    return false;
  }
  return true;
}

std::optional<int64_t> SpecScope::Variable(std::string_view name) const {
  const auto it = symbols_.find(name);
  if (it == symbols_.end()) return std::nullopt;
  return it->second;
}

const std::vector<int64_t>* SpecScope::Table(std::string_view name) const {
  const auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : &it->second->values;
}

std::optional<int64_t> SpecScope::Pipeline(std::string_view function, int64_t argument,
                                           std::string* error) const {
  if (!spec_->pipeline) {
    *error = "the layout has no 'pipeline'";
    return std::nullopt;
  }
  if (function == "stage_start") {
    if (argument < 0 || static_cast<uint64_t>(argument) >= stage_count_) {
      *error = "stage " + Text(argument) + " is outside the pipeline of " +
               std::to_string(stage_count_) + " stages";
      return std::nullopt;
    }
    const std::vector<int64_t>& starts = stage_starts_[static_cast<size_t>(argument)];
    if (starts.size() == 1) return starts[0];
    *error = "stage " + Text(argument) + " has " + std::to_string(starts.size()) +
             " layer ranges: use layer_start(l)";
    return std::nullopt;
  }
  auto it = std::upper_bound(layers_.begin(), layers_.end(), argument,
                             [](int64_t layer, const LayerRange& r) { return layer < r.begin; });
  if (it == layers_.begin() || argument >= (--it)->end) {
    *error = "layer " + Text(argument) + " is in no stage of the pipeline";
    return std::nullopt;
  }
  if (function == "stage") return it->stage;
  if (function == "chunk") return it->chunk;
  return it->begin;
}

size_t VarScope::Add(std::string_view name) {
  index_[name] = names_.size();
  names_.push_back(name);
  values_.push_back(0);
  return names_.size() - 1;
}

bool VarScope::AddLets(const std::vector<LetSpec>& lets, Diagnostics* diags) {
  for (const LetSpec& let : lets) {
    let_index_[let.name] = lets_.size();
    lets_.push_back({});
    lets_.back().spec = &let;
  }
  for (size_t i = 0; i < lets_.size(); ++i) {
    if (ResolveLet(i, 0)) continue;
    diags->Error(
        DiagnosticCode::kTooLarge, lets[i].name_span,
        "'let' names build on each other more than " + std::to_string(kMaxLetDepth) + " deep");
    return false;
  }
  return true;
}

bool VarScope::ResolveLet(size_t index, size_t depth) {
  if (lets_[index].mask_known) return true;
  if (depth == kMaxLetDepth) return false;
  for (const std::string& name : NamesIn(lets_[index].spec->value)) {
    if (const auto it = let_index_.find(name); it != let_index_.end()) {
      if (!ResolveLet(it->second, depth + 1)) return false;
    }
  }
  lets_[index].mask = DependenciesOf(lets_[index].spec->value);
  lets_[index].mask_known = true;
  return true;
}

bool VarScope::EvalInt(const Expr& expr, int64_t* value, EvalFailure* failure) const {
  let_failure_.reset();
  const std::optional<int64_t> result = Eval(expr, *this, &failure->text, &failure->span);
  if (result) {
    *value = *result;
    return true;
  }
  failure->code = DiagnosticCode::kEvaluation;
  if (let_failure_) *failure = *let_failure_;
  return false;
}

bool VarScope::EvalValues(const RangeExpr& range, std::vector<int64_t>* values,
                          EvalFailure* failure) const {
  let_failure_.reset();
  if (EvalRange(range, *this, values, failure)) return true;
  if (let_failure_) *failure = *let_failure_;
  return false;
}

std::optional<size_t> VarScope::Find(std::string_view name) const {
  const auto it = index_.find(name);
  if (it == index_.end()) return std::nullopt;
  return it->second;
}

VarMask VarScope::DependenciesOf(const Expr& expr) const {
  VarMask mask = 0;
  for (const std::string& name : NamesIn(expr)) {
    if (const auto it = index_.find(name); it != index_.end()) mask |= VarMask{1} << it->second;
    if (const auto it = let_index_.find(name); it != let_index_.end())
      mask |= lets_[it->second].mask;
  }
  return mask;
}

VarMask VarScope::DependenciesOf(const RangeExpr& range) const {
  VarMask mask = 0;
  for (const RangeExpr::Part& part : range.parts) {
    mask |= DependenciesOf(part.begin) | DependenciesOf(part.end) | DependenciesOf(part.step);
  }
  return mask;
}

std::optional<int64_t> VarScope::Variable(std::string_view name) const {
  if (const auto it = index_.find(name); it != index_.end()) return values_[it->second];
  if (const auto it = let_index_.find(name); it != let_index_.end()) {
    const Let& let = lets_[it->second];
    if (let.stamp != stamp_) {
      std::string error;
      Span where;
      const std::optional<int64_t> value = Eval(let.spec->value, *this, &error, &where);
      if (!value) {
        // The innermost `let` that fails is the cause.
        if (!let_failure_) {
          let_failure_ = EvalFailure{DiagnosticCode::kEvaluation, where,
                                     error + " in '" + let.spec->name + "'"};
        }
        return std::nullopt;
      }
      let.value = *value;
      let.stamp = stamp_;
    }
    return let.value;
  }
  return globals_.Variable(name);
}

const std::vector<int64_t>* VarScope::Table(std::string_view name) const {
  return globals_.Table(name);
}

std::optional<int64_t> VarScope::Pipeline(std::string_view function, int64_t argument,
                                          std::string* error) const {
  return globals_.Pipeline(function, argument, error);
}

}  // namespace reshard
