// ImportDtensor: what reshard.torch.export_dtensors wrote, as a layout.
//
// Params keep their names, which are those of the logical tensors too; meshes and placements are
// taken over as they are. The local shapes that the exporter saw become facts under "expect", so
// that a layout which reads the placements in another way than PyTorch does is refused.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_DTENSOR_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_DTENSOR_H_

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/exported_side.h"
#include "compiler/import/json_doc.h"

namespace reshard {

// Returns false after at least one error was reported.
[[nodiscard]] bool ImportDtensor(const JsonNode& root, const ExportedSide& side, Diagnostics* diags,
                                 JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_DTENSOR_H_
