// ImportMcoreSharded: which part of each tensor the params of Megatron-Core ranks are, as a layout.
//
// The file is what the Python package's export_mcore_sharded returned: for each rank and
// ShardedTensor the box of a key that a param, or a box of it, is. Aliases say what keys are in the
// tensors of a checkpoint; a key without one is a logical tensor of its own name.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_MCORE_SHARDED_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_MCORE_SHARDED_H_

#include <cstdint>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/exported_side.h"
#include "compiler/import/json_doc.h"

namespace reshard {

struct McoreOptions {
  ExportedSide side;
  int64_t max_pieces = 1'000'000;  // of all entries, and of all aliases, before folding
};

// `shapes`, where not null, is {NAME: {"shape", "dtype"}}: the checkpoint, for files without
// "tensors". Returns false after at least one error was reported.
[[nodiscard]] bool ImportMcoreSharded(const JsonNode& root, const JsonNode* shapes,
                                      const McoreOptions& options, Diagnostics* diags,
                                      JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_MCORE_SHARDED_H_
