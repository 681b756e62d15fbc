// NaiveScope: the numbers that expressions of a layout see at one rank and loop value.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_NAIVE_SCOPE_H_
#define RESHARD_COMPILER_PLAN_TOOLS_NAIVE_SCOPE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/frontend/expr.h"
#include "compiler/frontend/layout_spec.h"

namespace reshard {

// What a whole file sees: symbols, tables and the pipeline, evaluated once.
class NaiveFileScope {
 public:
  bool Make(const LayoutSpec& spec, std::string* error);

  std::optional<int64_t> Symbol(std::string_view name) const;
  const std::vector<int64_t>* Table(std::string_view name) const;
  std::optional<int64_t> Pipeline(std::string_view function, int64_t argument,
                                  std::string* error) const;

 private:
  std::map<std::string, int64_t, std::less<>> symbols_;
  std::map<std::string, const std::vector<int64_t>*, std::less<>> tables_;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> stages_;
};

class NaiveScope : public ExprEnv {
 public:
  explicit NaiveScope(const NaiveFileScope* file) : file_(file) {}

  void Push(std::string_view name, int64_t value) { locals_.emplace_back(name, value); }
  void Pop() { locals_.pop_back(); }

  std::optional<int64_t> Variable(std::string_view name) const override;
  const std::vector<int64_t>* Table(std::string_view name) const override;
  std::optional<int64_t> Pipeline(std::string_view function, int64_t argument,
                                  std::string* error) const override;

  // Each puts its reason into `error` and returns false or nullopt when it cannot be said.
  std::optional<int64_t> Value(const Expr& expr, std::string* error) const;
  bool Values(const std::vector<Expr>& exprs, std::string* error, std::vector<int64_t>* out) const;
  std::optional<std::string> Name(const NameExpr& name, std::string* error) const;
  bool Range(const RangeExpr& range, std::string* error, std::vector<int64_t>* out) const;

  // Calls `body` with each combination of loop values pushed, until it returns false. `loops` stand
  // in an order in which a range uses only variables before it.
  bool ForEach(const std::vector<LoopSpec>& loops, std::string* error,
               const std::function<bool()>& body);

 private:
  bool ForEachFrom(const std::vector<LoopSpec>& loops, size_t first, std::string* error,
                   const std::function<bool()>& body);

  const NaiveFileScope* file_;
  std::vector<std::pair<std::string_view, int64_t>> locals_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_NAIVE_SCOPE_H_
