// AsConstant: what number an expression is, for tests of those who read it.
#ifndef RESHARD_COMPILER_FRONTEND_TESTING_AS_CONSTANT_H_
#define RESHARD_COMPILER_FRONTEND_TESTING_AS_CONSTANT_H_

#include <cstdint>
#include <optional>

#include "compiler/frontend/expr.h"

namespace reshard::testing {

// Null when the expression is more than a number.
inline std::optional<int64_t> AsConstant(const Expr& expr) {
  if (!expr || expr.node->op != ExprOp::kNumber) return std::nullopt;
  return expr.node->number;
}

}  // namespace reshard::testing

#endif  // RESHARD_COMPILER_FRONTEND_TESTING_AS_CONSTANT_H_
