// ImportDcp: which rank saved which part of each tensor in a checkpoint of
// torch.distributed.checkpoint, as a layout of explicit params.
//
// The checkpoint's metadata names chunks of tensors but no ranks: the file says beside each chunk
// who saved it. A chunk is the whole param of its rank under the tensor's name; where a rank saved
// several chunks of a tensor, the metadata does not say where each lies in its memory.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_DCP_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_DCP_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/exported_side.h"
#include "compiler/import/json_doc.h"

namespace reshard {

// Returns false after at least one error was reported.
[[nodiscard]] bool ImportDcp(const JsonNode& root, const ExportedSide& side, Diagnostics* diags,
                             JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_DCP_H_
