// NameScope: the names that an expression may use at one place of a layout file.
//
// Scopes nest (file, mesh and param, stack) and share one name space: an inner scope may not
// declare what an outer one has. Not for keeping: a scope points to its outer one.
#ifndef RESHARD_COMPILER_FRONTEND_NAME_SCOPE_H_
#define RESHARD_COMPILER_FRONTEND_NAME_SCOPE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/expr.h"

namespace reshard {

enum class NameKind : uint8_t { kSymbol, kTable, kVariable, kAxis, kLet };

// Which pipeline functions an expression may call.
enum class PipelineUse : uint8_t {
  kAllowed,
  kNoPipeline,  // the file has none
  kNotHere,     // a place where they are not defined
};

class NameScope {
 public:
  explicit NameScope(const NameScope* outer) : outer_(outer) {}

  // Reports a name that this scope or an outer one has already.
  void Declare(const std::string& name, NameKind kind, Span span, Diagnostics* diags);
  // Reports names and functions that are not available. An empty expression is silent.
  void Check(const Expr& expr, PipelineUse pipeline, Diagnostics* diags) const;
  void Check(const NameExpr& name, PipelineUse pipeline, Diagnostics* diags) const;
  void Check(const RangeExpr& range, PipelineUse pipeline, Diagnostics* diags) const;
  void Check(const std::vector<Expr>& exprs, PipelineUse pipeline, Diagnostics* diags) const;

 private:
  struct Entry {
    NameKind kind;
    Span span;
  };
  const Entry* Find(std::string_view name) const;
  void CheckNode(const ExprNode& node, PipelineUse pipeline, Diagnostics* diags) const;
  void ReportUnknown(const ExprNode& node, Diagnostics* diags) const;

  const NameScope* outer_;
  std::map<std::string, Entry, std::less<>> names_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_NAME_SCOPE_H_
