// The name space of a layout file: what each expression may see.
#ifndef RESHARD_COMPILER_FRONTEND_CHECK_NAMES_H_
#define RESHARD_COMPILER_FRONTEND_CHECK_NAMES_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"

namespace reshard {

// Reports unknown names, meshes and axes, collisions, and circles of symbols, `for` and `let`;
// puts symbols, tables, meshes, `for` and `let` in the order that LayoutSpec promises.
void CheckNames(LayoutSpec* spec, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_CHECK_NAMES_H_
