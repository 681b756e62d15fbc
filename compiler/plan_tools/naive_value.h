// Values of params, for the naive interpreter (naive_layout.h).
#ifndef RESHARD_COMPILER_PLAN_TOOLS_NAIVE_VALUE_H_
#define RESHARD_COMPILER_PLAN_TOOLS_NAIVE_VALUE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/plan_tools/naive_layout.h"
#include "compiler/plan_tools/naive_placement.h"
#include "compiler/plan_tools/naive_scope.h"
#include "compiler/plan_tools/naive_view.h"

namespace reshard {

// A template at one rank; the scope holds the rank's coordinates and the current loop values.
struct NaiveInstance {
  const ParamSpec& param;
  const NaiveMesh& mesh;
  const std::vector<int64_t>& coords;
  const NaiveTensors& tensors;
  NaiveScope& scope;
  NaiveOps& ops;
};

bool EvaluateNaive(const ValueSpec& value, NaiveInstance* instance, NaiveView* out,
                   std::string* error);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_NAIVE_VALUE_H_
