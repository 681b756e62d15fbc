// ValueTree: a value of the layout language, prepared for evaluation at many points, and its
// evaluation to a View.
#ifndef RESHARD_COMPILER_LAYOUT_VALUE_TREE_H_
#define RESHARD_COMPILER_LAYOUT_VALUE_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/eval_context.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/view.h"

namespace reshard {

class ValueTree {
 public:
  // Adds the variables of stacks to `scope`, in which the mesh's axes are variables 0, 1, ...
  // Returns false after an error was reported. `spec` and `mesh` must outlive the tree.
  [[nodiscard]] bool AddVariables(const ValueSpec& spec, const Mesh& mesh, VarScope* scope,
                                  Diagnostics* diags);
  // After all names of the scope are known, `let`s too.
  void Prepare(const VarScope& scope);

  // Variables on which the shape of the map depends, not just which tensors it leads to: they must
  // have one value each. Without the stacks' own variables.
  VarMask structure_mask() const { return structure_; }
  // All variables that the value depends on, without the stacks' own.
  VarMask value_mask() const { return structure_ | names_; }
  // Of the first tensor in the value, for messages.
  const std::string& first_name() const { return first_name_; }

  Outcome Eval(const LogicalTable& table, EvalContext* context, View* out) const;

 private:
  struct Node {
    const ValueSpec* spec = nullptr;
    std::vector<Node> inputs;
    TemplateName name;          // kTensor
    std::vector<size_t> axes;   // kShard: variables of its mesh axes
    size_t stack_variable = 0;  // kStack
    bool write_out = false;     // kStack: the structure of the input depends on the variable
  };
  class Evaluator;

  bool AddNode(const ValueSpec& spec, VarScope* scope, Diagnostics* diags, Node* node);
  // Returns the structure mask of the node.
  VarMask PrepareNode(const VarScope& scope, Node* node);

  Node root_;
  const Mesh* mesh_ = nullptr;
  VarMask structure_ = 0;
  VarMask names_ = 0;
  VarMask stacks_ = 0;
  std::string first_name_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_VALUE_TREE_H_
