// The layout of ranks that hold whole tensors under the model's own names: an engine without tensor
// parallelism, or writers of a checkpoint's files.
#ifndef RESHARD_COMPILER_IMPORT_HF_LAYOUT_H_
#define RESHARD_COMPILER_IMPORT_HF_LAYOUT_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/parallel_spec.h"

namespace reshard {

// The files of a model, sorted by name, and which of them holds a tensor.
struct TensorFiles {
  std::vector<std::string> files;
  std::unordered_map<std::string, size_t> file_of;
};

// Returns false after an error was reported.
[[nodiscard]] bool HfLayout(const ModelSpec& model, const HfSpec& spec, const TensorFiles& files,
                            int64_t rank_base, Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_HF_LAYOUT_H_
