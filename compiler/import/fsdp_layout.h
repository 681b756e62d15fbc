// The layout of a trainer with FSDP2, alone or over tensor parallelism: DTensors under the model's
// own names.
#ifndef RESHARD_COMPILER_IMPORT_FSDP_LAYOUT_H_
#define RESHARD_COMPILER_IMPORT_FSDP_LAYOUT_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/parallel_spec.h"

namespace reshard {

// Returns false after an error was reported at `span`.
[[nodiscard]] bool FsdpLayout(const ModelSpec& model, const FsdpSpec& spec, Span span,
                              Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_FSDP_LAYOUT_H_
