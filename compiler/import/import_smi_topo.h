// ImportSmiTopo: what `nvidia-smi topo -m` prints on one host of a job, as a topology.
//
// The matrix says which GPUs NVLink connects and how far each NIC is from each GPU; the rank file
// says which hosts there are. All hosts are taken to be like the one that printed the matrix. What
// neither says, bandwidths, the caller does.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_SMI_TOPO_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_SMI_TOPO_H_

#include <cstdint>
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"

namespace reshard {

struct SmiTopoInput {
  uint32_t matrix = 0;     // number of the file with the matrix
  uint32_t rank_file = 0;  // of the rank file
  // GB/s in one direction, as text of a JSON number.
  std::string nic_gb_per_s;
  std::string nvlink_gb_per_s;  // of a GPU to all others; "" is an error where there is NVLink
};

// Returns false after at least one error was reported.
[[nodiscard]] bool ImportSmiTopo(const SourceMap& sources, const SmiTopoInput& input,
                                 Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_SMI_TOPO_H_
