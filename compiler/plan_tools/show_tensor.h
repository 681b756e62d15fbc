// `show --tensor NAME`: where one logical tensor comes from and where it goes.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SHOW_TENSOR_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SHOW_TENSOR_H_

#include <cstddef>
#include <ostream>
#include <string>

#include "compiler/plan_tools/text_table.h"
#include "runtime/plan/plan.h"

namespace reshard {

// False when no tensor has this name.
[[nodiscard]] bool ShowTensorText(const Plan& plan, const std::string& name, const TextStyle& style,
                                  std::ostream& out);
// Schema "reshardc-show-tensor/1".
[[nodiscard]] bool ShowTensorJson(const Plan& plan, const std::string& name, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SHOW_TENSOR_H_
