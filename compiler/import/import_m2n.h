// ImportM2n: the two input files of NCCL M2N's model benchmark as our three.
//
// Its rules are the benchmark's own: the grid order tp-cp-ep-dp-pp, a second mesh for experts on
// the training side (expert tensor parallel size 1), which names are cut by rows or columns, layer
// l on stage l*pp//layers. Params keep the model's names; experts of one layer are one stacked
// param. Where the benchmark skips a tensor that does not divide, this is an error.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_M2N_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_M2N_H_

#include <cstdint>
#include <string>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/json_doc.h"

namespace reshard {

// What the benchmark's files do not say about the machine.
struct M2nTopology {
  int64_t gpus_per_node = 8;
  int64_t nodes_per_domain = 1;         // hosts of one NVLink domain
  std::string nic_gb_per_s = "50";      // of the one NIC of each GPU
  std::string nvlink_gb_per_s = "370";  // of each GPU
};

struct ImportedJob {
  JsonDoc train = JsonDoc::Object();
  JsonDoc infer = JsonDoc::Object();
  JsonDoc topo = JsonDoc::Object();
};

// `model` and `system` are the files as read. Returns false after at least one error was reported.
[[nodiscard]] bool ImportM2n(const JsonNode& model, const JsonNode& system,
                             const M2nTopology& machine, Diagnostics* diags, ImportedJob* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_M2N_H_
