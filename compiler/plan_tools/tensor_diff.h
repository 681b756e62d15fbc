// TensorDiff: which tensors two plans treat differently, template by template.
//
// Tensors are matched by name, whatever the templates that they belong to, and compared one by one
// where the templates as a whole are not the same. One change tells of all tensors of a template
// that have it.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TENSOR_DIFF_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TENSOR_DIFF_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

enum class TensorChangeKind : uint8_t {
#define RESHARD_TENSOR_CHANGE(name, text, meaning) name,
#include "compiler/plan_tools/tensor_changes.def"
#undef RESHARD_TENSOR_CHANGE
};
std::string_view TensorChangeText(TensorChangeKind kind);

struct TensorChange {
  TensorChangeKind kind{};
  std::string name;                // "layers.{0..60}.w"; where there are many, the first ones
  int64_t count = 1;               // tensors
  std::vector<std::string> names;  // which together stand for exactly these tensors
  std::string before, after;
  // Tensors of which the first plan delivers an element that the second delivers to nobody; that it
  // delivers in fewer copies, or to nobody.
  int64_t lost = 0, fewer_copies = 0;
  bool coverage_known = true;  // false: too large to tell
};

// By name, then kind.
std::vector<TensorChange> DiffTensors(const Plan& before, const Plan& after);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TENSOR_DIFF_H_
