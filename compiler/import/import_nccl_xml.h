// ImportNcclXml: what NCCL says that hosts have (NCCL_TOPO_DUMP_FILE), as a topology.
//
// The files say which GPUs and NICs a host has, how far these are from each other, how many NVLinks
// connect the GPUs, and the line rates of all; the rank file says which hosts there are. What
// really arrives over NICs and NVLink the caller may say; line rates stand for what he does not,
// with a warning.
#ifndef RESHARD_COMPILER_IMPORT_IMPORT_NCCL_XML_H_
#define RESHARD_COMPILER_IMPORT_IMPORT_NCCL_XML_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"

namespace reshard {

struct NcclXmlFile {
  uint32_t file = 0;  // its number
  std::string host;   // of the rank file; not used where there is one file, which stands for all
};

struct NcclXmlInput {
  std::vector<NcclXmlFile> files;  // not empty
  uint32_t rank_file = 0;          // number of the rank file
  // GB/s in one direction, as text of a JSON number; "": the line rate.
  std::string nic_gb_per_s;     // of the fastest NICs of hosts with ranks; others in proportion
  std::string nvlink_gb_per_s;  // of a GPU to all others of its host
};

// Returns false after at least one error was reported.
[[nodiscard]] bool ImportNcclXml(const SourceMap& sources, const NcclXmlInput& input,
                                 Diagnostics* diags, JsonDoc* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_IMPORT_NCCL_XML_H_
