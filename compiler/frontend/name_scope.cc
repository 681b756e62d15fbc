#include "compiler/frontend/name_scope.h"

namespace reshard {
namespace {

// Suggestions cost time in the number of names; past this many errors nobody reads them.
constexpr size_t kMaxSuggestions = 100;

std::string KindText(NameKind kind) {
  switch (kind) {
    case NameKind::kSymbol:
      return "symbol";
    case NameKind::kTable:
      return "table";
    case NameKind::kVariable:
      return "variable";
    case NameKind::kAxis:
      return "mesh axis";
    case NameKind::kLet:
      return "'let' name";
  }
  return "";
}

}  // namespace

const NameScope::Entry* NameScope::Find(std::string_view name) const {
  for (const NameScope* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto it = scope->names_.find(name);
    if (it != scope->names_.end()) return &it->second;
  }
  return nullptr;
}

void NameScope::Declare(const std::string& name, NameKind kind, Span span, Diagnostics* diags) {
  if (const Entry* first = Find(name)) {
    diags
        ->Error(DiagnosticCode::kNameCollision, span,
                "'" + name + "' is already a " + KindText(first->kind) +
                    ": symbols, tables, variables and axes share one name space")
        .notes.push_back({first->span, "'" + name + "' is declared here"});
    return;
  }
  names_.emplace(name, Entry{kind, span});
}

void NameScope::Check(const Expr& expr, PipelineUse pipeline, Diagnostics* diags) const {
  if (expr) CheckNode(*expr.node, pipeline, diags);
}

void NameScope::Check(const NameExpr& name, PipelineUse pipeline, Diagnostics* diags) const {
  Check(name.holes, pipeline, diags);
}

void NameScope::Check(const RangeExpr& range, PipelineUse pipeline, Diagnostics* diags) const {
  for (const RangeExpr::Part& part : range.parts) {
    Check(part.begin, pipeline, diags);
    Check(part.end, pipeline, diags);
    Check(part.step, pipeline, diags);
  }
}

void NameScope::Check(const std::vector<Expr>& exprs, PipelineUse pipeline,
                      Diagnostics* diags) const {
  for (const Expr& expr : exprs) Check(expr, pipeline, diags);
}

void NameScope::CheckNode(const ExprNode& node, PipelineUse pipeline, Diagnostics* diags) const {
  if (node.op == ExprOp::kVariable || node.op == ExprOp::kTable) {
    const Entry* entry = Find(node.name);
    const bool indexed = node.op == ExprOp::kTable;
    if (entry == nullptr) {
      ReportUnknown(node, diags);
    } else if (indexed && entry->kind != NameKind::kTable) {
      diags->Error(DiagnosticCode::kUnknownName, node.span,
                   "'" + node.name + "' is a " + KindText(entry->kind) + ", not a table");
    } else if (!indexed && entry->kind == NameKind::kTable) {
      diags->Error(DiagnosticCode::kUnknownName, node.span,
                   "'" + node.name + "' is a table: write '" + node.name + "[index]'");
    }
  } else if (node.op == ExprOp::kPipeline && pipeline != PipelineUse::kAllowed) {
    diags->Error(DiagnosticCode::kUnknownName, node.span,
                 pipeline == PipelineUse::kNoPipeline
                     ? "'" + node.name + "' needs a 'pipeline', and this file has none"
                     : "'" + node.name + "' is known only inside of params");
  }
  for (const ExprNode& arg : node.args) CheckNode(arg, pipeline, diags);
}

void NameScope::ReportUnknown(const ExprNode& node, Diagnostics* diags) const {
  std::string suggestion;
  if (diags->error_count() < kMaxSuggestions) {
    std::vector<std::string> known;
    for (const NameScope* scope = this; scope != nullptr; scope = scope->outer_) {
      for (const auto& [name, entry] : scope->names_) known.push_back(name);
    }
    suggestion = DidYouMean(node.name, known);
  }
  diags->Error(DiagnosticCode::kUnknownName, node.span,
               "'" + node.name + "' is not known here" + suggestion);
}

}  // namespace reshard
