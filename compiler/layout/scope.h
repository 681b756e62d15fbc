// Scopes: what the expressions of a layout can see.
//
// SpecScope holds what is the same everywhere in a file: symbols, tables and the pipeline.
// VarScope adds the variables of one template (mesh coordinates, loop and stack variables) and its
// `let` names; its owner sets the variables before evaluating. The reader has checked all names.
#ifndef RESHARD_COMPILER_LAYOUT_SCOPE_H_
#define RESHARD_COMPILER_LAYOUT_SCOPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/expr.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/ranges.h"

namespace reshard {

class SpecScope : public ExprEnv {
 public:
  // Evaluates the symbols of `spec`, which must outlive the scope.
  // Both return false after at least one error was reported.
  [[nodiscard]] bool Build(const LayoutSpec& spec, Diagnostics* diags);
  // Needed where expressions may call pipeline functions; after Build.
  [[nodiscard]] bool BuildPipeline(Diagnostics* diags);

  std::optional<int64_t> Variable(std::string_view name) const override;
  const std::vector<int64_t>* Table(std::string_view name) const override;
  std::optional<int64_t> Pipeline(std::string_view function, int64_t argument,
                                  std::string* error) const override;

  size_t stage_count() const { return stage_count_; }

 private:
  bool EvalSymbols(Diagnostics* diags);
  struct LayerRange {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t stage = 0;
    int64_t chunk = 0;
    Span span;
  };
  const LayoutSpec* spec_ = nullptr;
  std::unordered_map<std::string_view, int64_t> symbols_;
  std::unordered_map<std::string_view, const TableSpec*> tables_;
  std::vector<LayerRange> layers_;                  // rising, without empty ranges
  std::vector<std::vector<int64_t>> stage_starts_;  // per stage, of its ranges
  size_t stage_count_ = 0;
};

// A set of the variables of one template, as bits of their numbers.
using VarMask = uint64_t;
inline constexpr size_t kMaxVariables = 64;
inline constexpr size_t kMaxLetDepth = 64;  // bounds the recursion over `let`s

class VarScope : public ExprEnv {
 public:
  explicit VarScope(const SpecScope& globals) : globals_(globals) {}

  // `name` must outlive the scope. At most kMaxVariables are added.
  size_t Add(std::string_view name);
  // `lets` must outlive the scope; added after all variables. Reports chains that are too deep.
  [[nodiscard]] bool AddLets(const std::vector<LetSpec>& lets, Diagnostics* diags);

  size_t count() const { return names_.size(); }
  std::string_view name(size_t variable) const { return names_[variable]; }
  int64_t value(size_t variable) const { return values_[variable]; }
  void Set(size_t variable, int64_t value) {
    values_[variable] = value;
    ++stamp_;
  }
  // The variable called `name`, if it is one.
  std::optional<size_t> Find(std::string_view name) const;

  // The variables that a value depends on, through `let`s too.
  VarMask DependenciesOf(const Expr& expr) const;
  VarMask DependenciesOf(const RangeExpr& range) const;

  // Evaluates with the variables as set. A failure inside a `let` is told as such.
  [[nodiscard]] bool EvalInt(const Expr& expr, int64_t* value, EvalFailure* failure) const;
  [[nodiscard]] bool EvalValues(const RangeExpr& range, std::vector<int64_t>* values,
                                EvalFailure* failure) const;

  std::optional<int64_t> Variable(std::string_view name) const override;
  const std::vector<int64_t>* Table(std::string_view name) const override;
  std::optional<int64_t> Pipeline(std::string_view function, int64_t argument,
                                  std::string* error) const override;

 private:
  struct Let {
    const LetSpec* spec = nullptr;
    VarMask mask = 0;  // the variables that it depends on
    bool mask_known = false;
    mutable uint64_t stamp = 0;  // of the values that `value` was made from
    mutable int64_t value = 0;
  };
  bool ResolveLet(size_t index, size_t depth);

  const SpecScope& globals_;
  std::vector<std::string_view> names_;
  std::vector<int64_t> values_;
  std::unordered_map<std::string_view, size_t> index_;  // variables
  std::unordered_map<std::string_view, size_t> let_index_;
  std::vector<Let> lets_;
  uint64_t stamp_ = 1;  // grows with every change of a variable
  mutable std::optional<EvalFailure> let_failure_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_SCOPE_H_
