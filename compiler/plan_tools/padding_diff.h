// PaddingDiff: what has changed of params' padding, which no tensor's rows tell.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PADDING_DIFF_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PADDING_DIFF_H_

#include <vector>

#include "compiler/plan_tools/tensor_diff.h"
#include "runtime/plan/plan.h"

namespace reshard {

// Destination params that both plans have, by name, whose padding follows other rules: one change
// for all params of a template that do so in one way. Nothing of templates that are cut otherwise
// and have very many params.
std::vector<TensorChange> DiffPadding(const Plan& before, const Plan& after);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PADDING_DIFF_H_
