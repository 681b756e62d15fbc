// Which layers Megatron-Core puts on which pipeline stage and virtual stage.
#ifndef RESHARD_COMPILER_IMPORT_MEGATRON_STAGES_H_
#define RESHARD_COMPILER_IMPORT_MEGATRON_STAGES_H_

#include <cstdint>
#include <optional>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/parallel_spec.h"

namespace reshard {

// By Megatron's rules, or as the spec lists them. Reports sizes that do not divide at `span`, where
// they are stated; then nullopt.
std::optional<StageTable> MegatronStages(int64_t layers, const MegatronSpec& spec, Span span,
                                         Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_MEGATRON_STAGES_H_
