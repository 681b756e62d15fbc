#include "compiler/layout/value_tree.h"

#include <algorithm>

namespace reshard {

bool ValueTree::AddVariables(const ValueSpec& spec, const Mesh& mesh, VarScope* scope,
                             Diagnostics* diags) {
  mesh_ = &mesh;
  return AddNode(spec, scope, diags, &root_);
}

bool ValueTree::AddNode(const ValueSpec& spec, VarScope* scope, Diagnostics* diags, Node* node) {
  node->spec = &spec;
  if (spec.op == ValueOp::kTensor && first_name_.empty()) first_name_ = spec.tensor.source;
  for (const std::string& axis : spec.axes) {
    const auto it = std::find(mesh_->axes.begin(), mesh_->axes.end(), axis);
    if (it == mesh_->axes.end()) return false;
    node->axes.push_back(static_cast<size_t>(it - mesh_->axes.begin()));
  }
  if (spec.op == ValueOp::kStack) {
    if (scope->count() >= kMaxVariables) {
      diags->Error(DiagnosticCode::kTooLarge, spec.span,
                   "a template has more than " + std::to_string(kMaxVariables) + " variables");
      return false;
    }
    node->stack_variable = scope->Add(spec.over->name);
    stacks_ |= VarMask{1} << node->stack_variable;
  }
  for (const ValueSpec& input : spec.inputs) {
    node->inputs.emplace_back();
    if (!AddNode(input, scope, diags, &node->inputs.back())) return false;
  }
  return true;
}

void ValueTree::Prepare(const VarScope& scope) {
  structure_ = PrepareNode(scope, &root_) & ~stacks_;
  names_ &= ~stacks_;
}

VarMask ValueTree::PrepareNode(const VarScope& scope, Node* node) {
  const ValueSpec& spec = *node->spec;
  VarMask mask = 0;
  for (const auto& expr : {spec.dim, spec.groups, spec.unit, spec.multiple, spec.to, spec.start,
                           spec.stop, spec.step, spec.at}) {
    if (expr) mask |= scope.DependenciesOf(*expr);
  }
  for (const Expr& expr : spec.dims) mask |= scope.DependenciesOf(expr);
  for (const Expr& expr : spec.shape) mask |= scope.DependenciesOf(expr);
  for (const size_t axis : node->axes) mask |= VarMask{1} << axis;
  if (spec.op == ValueOp::kTensor) {
    node->name = TemplateName(spec.tensor, scope);
    names_ |= node->name.mask;
  }
  for (Node& input : node->inputs) {
    const VarMask below = PrepareNode(scope, &input);
    if (spec.op == ValueOp::kStack) node->write_out |= (below >> node->stack_variable & 1) != 0;
    mask |= below;
  }
  if (spec.over) mask |= scope.DependenciesOf(spec.over->range);
  return mask;
}

}  // namespace reshard
