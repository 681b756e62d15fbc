// What params[] and explicit[] share: walking the parts of an instance box, and naming families.
#ifndef RESHARD_COMPILER_LAYOUT_TEMPLATE_RUNS_H_
#define RESHARD_COMPILER_LAYOUT_TEMPLATE_RUNS_H_

#include <functional>
#include <vector>

#include "compiler/layout/eval_context.h"
#include "compiler/layout/families.h"
#include "compiler/layout/instances.h"

namespace reshard {

// Binds the variables of `box` in the context and calls `add`; where that asks for a split, binds
// and tries the parts in turn. Returns false once `add` has failed.
[[nodiscard]] bool ForEachPart(const InstanceBox& box, EvalContext* context,
                               const std::function<Outcome()>& add);

// Sets the name and the shares of a draft, whose loops are set. names[0] is the name.
Outcome MakeNames(const std::vector<TemplateName>& names, EvalContext* context, FamilyDraft* draft);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_TEMPLATE_RUNS_H_
