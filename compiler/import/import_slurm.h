// ImportSlurm: what Slurm's topology.conf says of the hosts of a job, as a topology.
//
// Leaf switches (plugin topology/tree) or blocks (topology/block) become groups of the fabric; the
// rank file says which hosts the job has. What neither says, GPUs and bandwidths, the caller does.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_SLURM_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_SLURM_H_

#include <cstdint>
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"

namespace reshard {

struct SlurmInput {
  uint32_t topology = 0;   // number of the file topology.conf
  uint32_t rank_file = 0;  // of the rank file
  uint32_t gpus_per_node = 1;
  // GB/s in one direction, as text of a JSON number.
  std::string nic_gb_per_s;     // of the one NIC of each GPU
  std::string nvlink_gb_per_s;  // of a GPU to all others of its host; "": no NVLink
  std::string uplink_gb_per_s;  // of all uplinks of a group together; "": they limit nothing
};

// Returns false after at least one error was reported.
[[nodiscard]] bool ImportSlurm(const SourceMap& sources, const SlurmInput& input,
                               Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_SLURM_H_
