// The layout of a Megatron-Core trainer: names and storage of its Transformer Engine modules.
#ifndef RESHARD_COMPILER_IMPORT_MEGATRON_LAYOUT_H_
#define RESHARD_COMPILER_IMPORT_MEGATRON_LAYOUT_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/parallel_spec.h"

namespace reshard {

// Returns false after an error was reported, at `span` where nothing nearer is to blame.
[[nodiscard]] bool MegatronLayout(const ModelSpec& model, const MegatronSpec& spec, Span span,
                                  Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_MEGATRON_LAYOUT_H_
