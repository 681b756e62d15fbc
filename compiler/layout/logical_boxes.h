// LogicalBoxes: the tensors that one template of `logical` or `aliases` names, as boxes of slots.
//
// A loop that appears as a plain hole stays a range; the others are written out.
#ifndef RESHARD_COMPILER_LAYOUT_LOGICAL_BOXES_H_
#define RESHARD_COMPILER_LAYOUT_LOGICAL_BOXES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/limits.h"
#include "compiler/layout/name_skeleton.h"
#include "compiler/layout/ranges.h"
#include "compiler/layout/scope.h"

namespace reshard {

// A name over the ranges of some loops.
struct NameBox {
  struct Slot {
    int64_t begin = 0;
    int64_t end = 1;
    int range = -1;  // which of the template's ranges it walks
  };
  std::string skeleton;
  std::vector<Slot> slots;
  std::string plain;  // the whole name, when it has no ranges
};

// One assignment of a template: the scope has every written-out loop set.
struct LoopBox {
  std::vector<size_t> variables;  // of the ranges, in loop order
  std::vector<Run> ranges;        // step 1, more than one value
};

class LoopBoxes {
 public:
  // `names` are all names that the caller will box; `also` are further expressions that must not
  // depend on a range. Each assignment takes one of `assignments_left`.
  LoopBoxes(const SpecScope& globals, const std::vector<LoopSpec>& loops,
            std::vector<const NameExpr*> names, const std::vector<Expr>& also,
            int64_t* assignments_left);

  // Calls `visit(box)` for each assignment until it returns false; stops with an error when the
  // loops are too large or cannot be evaluated.
  [[nodiscard]] bool ForEach(Diagnostics* diags, const std::function<bool(const LoopBox&)>& visit) {
    LoopBox box;
    return Walk(0, diags, &box, visit);
  }

  const VarScope& scope() const { return scope_; }
  // " (l=3, e=0)" for messages; "" without loops.
  std::string Where() const;
  [[nodiscard]] bool Eval(const Expr& expr, Diagnostics* diags, int64_t* value) const;
  // The boxed form of one of the names.
  [[nodiscard]] bool Box(const NameExpr& name, const NamePlan& plan, const LoopBox& box,
                         Diagnostics* diags, NameBox* out) const;

 private:
  bool Walk(size_t depth, Diagnostics* diags, LoopBox* box,
            const std::function<bool(const LoopBox&)>& visit);

  VarScope scope_;
  const std::vector<LoopSpec>& loops_;
  std::vector<size_t> order_;  // of loops: each after those that its bounds use
  VarMask ranged_ = 0;         // loops that stay ranges
  int64_t& assignments_left_;  // shared by all templates of a table
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_LOGICAL_BOXES_H_
