#include "compiler/frontend/expr.h"

#include <algorithm>
#include <utility>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

struct Evaluator {
  const ExprEnv& env;
  std::string* error;
  Span* where;

  std::optional<int64_t> Fail(const ExprNode& node, std::string reason) const {
    *error = std::move(reason);
    *where = node.span;
    return std::nullopt;
  }

  // A null `value` of an operation on two known numbers: it is too large for 64 bits.
  std::optional<int64_t> Checked(const ExprNode& node, std::optional<int64_t> value) const {
    return value ? value : Fail(node, "the result does not fit 64 bits");
  }

  std::optional<int64_t> Run(const ExprNode& node) const {
    switch (node.op) {
      case ExprOp::kNumber:
        return node.number;
      case ExprOp::kVariable: {
        const std::optional<int64_t> value = env.Variable(node.name);
        return value ? value : Fail(node, "'" + node.name + "' is not known here");
      }
      case ExprOp::kTable:
        return Lookup(node);
      case ExprOp::kOr:
      case ExprOp::kAnd:
        return Logic(node);
      case ExprOp::kNot: {
        const std::optional<int64_t> value = Run(node.args[0]);
        return value ? std::optional<int64_t>(*value == 0) : value;
      }
      case ExprOp::kNegate: {
        const std::optional<int64_t> value = Run(node.args[0]);
        return value ? Checked(node, CheckedSub(int64_t{0}, *value)) : value;
      }
      case ExprOp::kMin:
      case ExprOp::kMax:
        return Extreme(node);
      case ExprOp::kPipeline: {
        const std::optional<int64_t> argument = Run(node.args[0]);
        if (!argument) return std::nullopt;
        std::string reason;
        const std::optional<int64_t> value = env.Pipeline(node.name, *argument, &reason);
        return value ? value : Fail(node, std::move(reason));
      }
      default:
        return Binary(node);
    }
  }

  std::optional<int64_t> Lookup(const ExprNode& node) const {
    const std::optional<int64_t> index = Run(node.args[0]);
    if (!index) return std::nullopt;
    const std::vector<int64_t>* table = env.Table(node.name);
    if (table == nullptr) return Fail(node, "'" + node.name + "' is not a table");
    if (*index < 0 || std::cmp_greater_equal(*index, table->size())) {
      return Fail(node, "index " + std::to_string(*index) + " is outside table '" + node.name +
                            "' of " + std::to_string(table->size()) + " values");
    }
    return (*table)[static_cast<size_t>(*index)];
  }

  std::optional<int64_t> Logic(const ExprNode& node) const {
    const std::optional<int64_t> left = Run(node.args[0]);
    if (!left) return std::nullopt;
    const bool decides = (*left != 0) == (node.op == ExprOp::kOr);
    if (decides) return int64_t{node.op == ExprOp::kOr};
    const std::optional<int64_t> right = Run(node.args[1]);
    return right ? std::optional<int64_t>(*right != 0) : right;
  }

  std::optional<int64_t> Extreme(const ExprNode& node) const {
    std::optional<int64_t> best;
    for (const ExprNode& arg : node.args) {
      const std::optional<int64_t> value = Run(arg);
      if (!value) return std::nullopt;
      const bool better = !best || (node.op == ExprOp::kMin ? *value < *best : *value > *best);
      if (better) best = value;
    }
    return best;
  }

  std::optional<int64_t> Binary(const ExprNode& node) const {
    const std::optional<int64_t> left = Run(node.args[0]);
    if (!left) return std::nullopt;
    const std::optional<int64_t> right = Run(node.args[1]);
    if (!right) return std::nullopt;
    const int64_t a = *left;
    const int64_t b = *right;
    switch (node.op) {
      case ExprOp::kEqual:
        return a == b;
      case ExprOp::kNotEqual:
        return a != b;
      case ExprOp::kLess:
        return a < b;
      case ExprOp::kLessEqual:
        return a <= b;
      case ExprOp::kGreater:
        return a > b;
      case ExprOp::kGreaterEqual:
        return a >= b;
      case ExprOp::kAdd:
        return Checked(node, CheckedAdd(a, b));
      case ExprOp::kSub:
        return Checked(node, CheckedSub(a, b));
      case ExprOp::kMul:
        return Checked(node, CheckedMul(a, b));
      default:
        break;
    }
    if (b == 0) return Fail(node, "division by zero");
    if (node.op == ExprOp::kMod) return CheckedFloorMod(a, b);
    return Checked(node,
                   node.op == ExprOp::kFloorDiv ? CheckedFloorDiv(a, b) : CheckedCeilDiv(a, b));
  }
};

void CollectNames(const ExprNode& node, std::set<std::string>* names) {
  if (node.op == ExprOp::kVariable || node.op == ExprOp::kTable) names->insert(node.name);
  for (const ExprNode& arg : node.args) CollectNames(arg, names);
}

void CollectFunctions(const ExprNode& node, std::set<std::string>* names) {
  if (node.op == ExprOp::kMin) names->insert("min");
  if (node.op == ExprOp::kMax) names->insert("max");
  if (node.op == ExprOp::kCeilDiv) names->insert("ceil_div");
  if (node.op == ExprOp::kPipeline) names->insert(node.name);
  for (const ExprNode& arg : node.args) CollectFunctions(arg, names);
}

// A number alone cannot fail: nobody asks where its node stands.
std::shared_ptr<const ExprNode> NumberNode(int64_t value) {
  auto node = std::make_shared<ExprNode>();
  node->number = value;
  return node;
}

// Layouts that write out every tensor have millions of numbers, most of them small: these share
// their nodes.
constexpr int64_t kSmallNumberCount = 4096;
std::vector<std::shared_ptr<const ExprNode>> SmallNumbers() {
  std::vector<std::shared_ptr<const ExprNode>> nodes;
  for (int64_t value = 0; value < kSmallNumberCount; ++value) nodes.push_back(NumberNode(value));
  return nodes;
}

}  // namespace

Expr ConstantExpr(int64_t value, Span span) {
  static const std::vector<std::shared_ptr<const ExprNode>> kSmallNumbers = SmallNumbers();
  if (value >= 0 && value < kSmallNumberCount) {
    return {kSmallNumbers[static_cast<size_t>(value)], span};
  }
  return {NumberNode(value), span};
}

std::optional<std::string_view> AsName(const Expr& expr) {
  if (!expr || expr.node->op != ExprOp::kVariable) return std::nullopt;
  return expr.node->name;
}

std::set<std::string> NamesIn(const Expr& expr) {
  std::set<std::string> names;
  if (expr) CollectNames(*expr.node, &names);
  return names;
}

std::set<std::string> FunctionsIn(const Expr& expr) {
  std::set<std::string> names;
  if (expr) CollectFunctions(*expr.node, &names);
  return names;
}

std::optional<int64_t> Eval(const Expr& expr, const ExprEnv& env, std::string* error, Span* where) {
  if (!expr) {
    *error = "the expression has a syntax error";
    *where = expr.span;
    return std::nullopt;
  }
  return Evaluator{env, error, where}.Run(*expr.node);
}

}  // namespace reshard
