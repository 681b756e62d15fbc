// ModelTensor: one tensor of a model as a file lists it, by name.
#ifndef RESHARD_COMPILER_IMPORT_MODEL_TENSOR_H_
#define RESHARD_COMPILER_IMPORT_MODEL_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "runtime/base/dtype.h"

namespace reshard {

struct ModelTensor {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype{};
  Span span;  // of the name where it is listed
};

// "BF16", "F8_E4M3": the words of safetensors headers, which M2N uses too.
std::optional<DType> ParseSafetensorsDtype(std::string_view word);

// Reads "shape" and "dtype" of an entry `"NAME": {"shape": [...], "dtype": "BF16", ...}`. A missing
// dtype is `default_dtype`, or an error when there is none. Other keys must be among `others`.
// Reports what is wrong; then returns false.
[[nodiscard]] bool ReadModelTensor(const JsonMember& member, std::optional<DType> default_dtype,
                                   const std::vector<std::string>& others, Diagnostics* diags,
                                   ModelTensor* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_MODEL_TENSOR_H_
