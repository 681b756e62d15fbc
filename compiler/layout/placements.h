// DTensor placements: which indices of each dim one rank keeps.
#ifndef RESHARD_COMPILER_LAYOUT_PLACEMENTS_H_
#define RESHARD_COMPILER_LAYOUT_PLACEMENTS_H_

#include <cstdint>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/eval_context.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/view.h"

namespace reshard {

// The variables (mesh axes) that the placements of `spec` cut by.
VarMask PlacementMask(const ParamSpec& spec, const Mesh& mesh);

// Checks what does not depend on shapes: one placement per axis, none partial.
[[nodiscard]] bool CheckPlacements(const ParamSpec& spec, const Mesh& mesh, Diagnostics* diags);

// Cuts `view` as the placements of `spec` say, for the coordinates in the context's scope.
Outcome ApplyPlacements(const ParamSpec& spec, const Mesh& mesh, EvalContext* context, View* view);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_PLACEMENTS_H_
