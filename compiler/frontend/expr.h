// Expr: an integer expression of the layout language.
//
// Grammar and meaning: docs/layout.md. Parsed once, evaluated often. An expression never sees
// values of weights; it computes indices, sizes and coordinates in checked 64-bit arithmetic.
#ifndef RESHARD_COMPILER_FRONTEND_EXPR_H_
#define RESHARD_COMPILER_FRONTEND_EXPR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

enum class ExprOp : uint8_t {
  kNumber,    // number
  kVariable,  // name: a symbol, loop variable, coordinate or `let` name
  kTable,     // name[args[0]]
  kOr,
  kAnd,
  kNot,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kMod,
  kNegate,
  kMin,
  kMax,  // two or more args
  kCeilDiv,
  kPipeline,  // name(args[0]): stage chunk layer_start stage_start
};

// One node of the syntax tree, open to passes that reason about expressions.
struct ExprNode {
  ExprOp op = ExprOp::kNumber;
  int64_t number = 0;
  std::string name;
  std::vector<ExprNode> args;
  int depth = 1;  // of the tree below, itself included
  Span span;
};

// A parsed expression and where it stands in its file. Cheap to copy.
struct Expr {
  std::shared_ptr<const ExprNode> node;
  Span span;
  explicit operator bool() const { return node != nullptr; }
};

inline constexpr size_t kMaxExprBytes = 4096;
inline constexpr int kMaxExprDepth = 200;  // of the syntax tree: bounds every recursion over it

// A letter or `_`, then letters, digits and `_`; not a word of the grammar.
bool IsIdentifier(std::string_view text);
// Functions share the name space of symbols, tables, variables and axes.
bool IsFunctionName(std::string_view text);

// Parses `text`, which stands at `span` (of the string's contents, without quotes).
// Reports a syntax error at the right byte and returns an empty Expr.
Expr ParseExpr(std::string_view text, Span span, Diagnostics* diags);
// The expression that is just this number.
Expr ConstantExpr(int64_t value, Span span);
// The variable's name when the expression is exactly one name.
std::optional<std::string_view> AsName(const Expr& expr);

// Names that the expression mentions: variables, symbols, axes and tables (not functions).
std::set<std::string> NamesIn(const Expr& expr);
// Functions that it calls.
std::set<std::string> FunctionsIn(const Expr& expr);

// What an expression can see. All members return nullopt for "unknown".
class ExprEnv {
 public:
  virtual ~ExprEnv() = default;
  virtual std::optional<int64_t> Variable(std::string_view name) const = 0;
  // Table `name`, or nullptr.
  virtual const std::vector<int64_t>* Table(std::string_view name) const = 0;
  // One of stage chunk layer_start stage_start; `error` gets the reason when it cannot be said.
  virtual std::optional<int64_t> Pipeline(std::string_view function, int64_t argument,
                                          std::string* error) const = 0;
};

// Evaluates. On failure (division by zero, overflow, unknown name, table index out of range,
// layer outside the pipeline) puts the reason into `*error`, its place into `*where`, and returns
// nullopt; nothing is reported, since the caller knows the rank and the loop values to add.
std::optional<int64_t> Eval(const Expr& expr, const ExprEnv& env, std::string* error, Span* where);

// "a..b", "a..b..s" or a list of integers and such strings, as written.
struct RangeExpr {
  struct Part {
    Expr begin;  // a single value when `end` is empty
    Expr end;
    Expr step;  // empty: 1
  };
  std::vector<Part> parts;
  Span span;
};
// Parses "a..b" or "a..b..s" and appends it; with `allow_single`, "a" too (an item of a list).
// Returns false after an error was reported.
[[nodiscard]] bool AppendRangePart(std::string_view text, Span span, bool allow_single,
                                   Diagnostics* diags, RangeExpr* range);

// "model.layers.{l}.x": literal text and holes. text.size() == holes.size() + 1.
struct NameExpr {
  std::vector<std::string> text;
  std::vector<Expr> holes;
  Span span;
  std::string source;  // as written, for messages
};
inline constexpr size_t kMaxNameBytes = 4096;
// Reports an error at the right byte and returns a name with empty `text`.
NameExpr ParseName(std::string_view text, Span span, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_EXPR_H_
