// NcclTree: the GPUs and NICs of one host as NCCL's XML has them, each with its place in the tree
// of NUMA nodes and PCIe switches.
#ifndef RESHARD_COMPILER_IMPORT_NCCL_TREE_H_
#define RESHARD_COMPILER_IMPORT_NCCL_TREE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/xml_tree.h"

namespace reshard {

struct NcclDevice {
  std::vector<size_t> above;     // the NUMA node, then PCIe switches down to the device
  std::string bus;               // of its PCIe device, in small letters; "" without one
  int64_t pcie_bytes_per_s = 0;  // of its PCIe link, on the line; 0: not known
  Span span;                     // of its number or name
};

struct NcclTreeLink {
  std::string target;  // a bus, in small letters
  bool to_switch = false;
  int64_t count = 0;
};

struct NcclTreeGpu {
  NcclDevice device;
  uint32_t number = 0;
  int64_t sm = 0;  // compute capability times 10
  bool gdr = false;
  int64_t c2c_bytes_per_s = 0;
  std::vector<NcclTreeLink> links;
};

struct NcclTreeNic {
  NcclDevice device;
  std::string name;
  int64_t mbit_per_s = 0;  // not above 0: not known
  bool gdr = false;
};

struct NcclTree {
  std::vector<NcclTreeGpu> gpus;  // not empty
  std::vector<NcclTreeNic> nics;
  size_t unit_count = 0;  // NUMA nodes and switches
  // Pairs of switches that are linked beside the tree.
  std::vector<std::pair<size_t, size_t>> switch_links;
};

// `system` is the root of the file. Returns false after at least one error was reported.
[[nodiscard]] bool ReadNcclTree(const XmlElement& system, Diagnostics* diags, NcclTree* out);

// How far each NIC of the tree is from a device: "PIX", "PXB", "PHB" or "SYS".
std::vector<std::string_view> PathsToNics(const NcclTree& tree, const NcclDevice& device);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_NCCL_TREE_H_
