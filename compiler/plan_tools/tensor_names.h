// TensorNames: some tensors of a template, named in few words and exactly.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TENSOR_NAMES_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TENSOR_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Names such as "layers.{0..2,7}.experts.{0..255}.w", which together stand for these tensors and no
// other ones. `tensors`: numbers in the template, row-major over its loops, rising. Where a hole of
// the name depends on several loops, each tensor has a name of its own.
std::vector<std::string> TensorNames(const PlanSuper& super, const std::vector<int64_t>& tensors);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TENSOR_NAMES_H_
