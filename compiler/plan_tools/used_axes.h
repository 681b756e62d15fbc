// Which coordinates of a mesh the params of a layout depend on, for the naive interpreter.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_USED_AXES_H_
#define RESHARD_COMPILER_PLAN_TOOLS_USED_AXES_H_

#include <vector>

#include "compiler/frontend/layout_spec.h"

namespace reshard {

// Per axis of `mesh`: whether an expression of a param on it names the axis, a shard cuts by it, or
// a placement other than "R" stands for it. No other thing distinguishes the ranks of a mesh.
std::vector<bool> UsedAxes(const MeshSpec& mesh, const std::vector<ParamSpec>& params);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_USED_AXES_H_
