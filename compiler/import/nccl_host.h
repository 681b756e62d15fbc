// ReadNcclHost: what one host has, from the XML that NCCL writes to NCCL_TOPO_DUMP_FILE.
//
// NCCL's tree is system / cpu (a NUMA node) / pci (a switch, or a device with its gpu or nic), with
// nvlink and c2c in a gpu and net in a nic. How far a NIC is from a GPU follows from the place of
// both in the tree. What the file has beyond that and that would change an answer is refused by
// name.
#ifndef RESHARD_COMPILER_IMPORT_NCCL_HOST_H_
#define RESHARD_COMPILER_IMPORT_NCCL_HOST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/xml_tree.h"

namespace reshard {

struct NcclNic {
  std::string name;
  int64_t mbit_per_s = 0;               // on the line; 0: not known
  int64_t pcie_bytes_per_s = 0;         // of its own PCIe link, on the line; 0: not known
  bool gdr = true;                      // reads and writes GPU memory itself
  bool c2c = false;                     // GPUs reach it over their links to the CPU
  std::vector<std::string_view> paths;  // PIX, PXB, PHB or SYS, one for each GPU of the host
  Span span;                            // of its name
};

struct NcclHost {
  std::vector<uint32_t> gpus;  // the numbers of those in the file, rising; not empty
  std::vector<NcclNic> nics;
  // NVLinks of each GPU to the others of the host, all of which they connect; 0: there are none.
  int64_t least_links = 0, most_links = 0;
  int nvlink_generation = 0;       // 0: not known
  int64_t nvlink_bytes_per_s = 0;  // of a GPU with the least links, on the line; 0: not known
  int64_t pcie_bytes_per_s = 0;    // of a GPU's PCIe link, on the line, the least; 0: not known
  int64_t c2c_bytes_per_s = 0;     // of a GPU's link to the CPU, the least; 0: not all have one
};

// `system` is the root of the file. Returns false after at least one error was reported.
[[nodiscard]] bool ReadNcclHost(const XmlElement& system, Diagnostics* diags, NcclHost* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_NCCL_HOST_H_
