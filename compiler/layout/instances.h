// Instances: for which coordinates and loop values a template exists.
//
// Variables are divided into fixed ones, which are written out, and free ones, which keep whole
// runs of values: a free variable's values depend on the fixed variables only. Conditions are
// grouped by the variables that they connect, so that cost grows with the sum, not the product, of
// independent conditions.
#ifndef RESHARD_COMPILER_LAYOUT_INSTANCES_H_
#define RESHARD_COMPILER_LAYOUT_INSTANCES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/ranges.h"
#include "compiler/layout/scope.h"
#include "compiler/layout/view.h"

namespace reshard {

// What the enumeration needs of a template. Variables 0 .. axis_extents.size()-1 of the scope are
// mesh coordinates, the next loops.size() ones are the loops.
struct InstanceQuery {
  std::vector<int64_t> axis_extents;
  const std::vector<LoopSpec>* loops = nullptr;
  const std::vector<Expr>* where = nullptr;
  VarMask fixed = 0;  // variables that must be written out; axes that nothing uses may be left out
};

// Part of the instances: each fixed variable has one value, each free loop a run of values; axes
// that are neither have every value.
using InstanceBox = std::vector<Run>;  // by variable; axes that are not fixed: {0, 1, 1}

class Instances {
 public:
  // Finds all instances. Loops that do not stay independent become fixed: see fixed(). Each value
  // that is tried is charged to the budget.
  // Returns false after an error was reported.
  [[nodiscard]] bool Build(const InstanceQuery& query, VarScope* scope, PieceBudget* budget,
                           Diagnostics* diags);

  VarMask fixed() const { return fixed_; }
  bool empty() const;
  // Calls `visit` for every box, in a fixed order, until it returns false; sets the fixed variables
  // in the scope first, and free ones to their first value.
  [[nodiscard]] bool ForEach(VarScope* scope,
                             const std::function<bool(const InstanceBox&)>& visit) const;

 private:
  // The values of the fixed variables of one component for which it has instances, and the values
  // of its free variables there.
  struct Row {
    std::vector<int64_t> fixed_values;
    std::vector<std::vector<Run>> free_runs;
  };
  struct Component {
    std::vector<size_t> fixed_variables;
    std::vector<size_t> free_variables;
    std::vector<Row> rows;
  };
  class Builder;

  VarMask fixed_ = 0;
  size_t variable_count_ = 0;
  std::vector<Component> components_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_INSTANCES_H_
