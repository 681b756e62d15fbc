// The layout of vLLM: its fused params in the state in which a checkpoint is loaded into them.
#ifndef RESHARD_COMPILER_IMPORT_VLLM_LAYOUT_H_
#define RESHARD_COMPILER_IMPORT_VLLM_LAYOUT_H_

#include <cstdint>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/parallel_spec.h"

namespace reshard {

// Returns false after an error was reported.
[[nodiscard]] bool VllmLayout(const ModelSpec& model, const VllmSpec& spec, int64_t rank_base,
                              Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_VLLM_LAYOUT_H_
