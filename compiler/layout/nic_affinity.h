// Which NICs the GPUs of a node type use, and how fast they reach them.
#ifndef RESHARD_COMPILER_LAYOUT_NIC_AFFINITY_H_
#define RESHARD_COMPILER_LAYOUT_NIC_AFFINITY_H_

#include <cstdint>
#include <vector>

#include "compiler/frontend/topo_spec.h"

namespace reshard {

struct GpuNics {
  std::vector<uint32_t> nics;    // indices into NodeTypeSpec::nics, rising
  int64_t host_bytes_per_s = 0;  // the smallest limit on the way to any of them, 0: none
};

// One entry per GPU. A GPU uses the NICs that name it in "gpu" or "gpus"; one that no NIC names
// uses those at the shortest distance: as "path" says, else PXB behind the switch of a GPU that the
// NIC names, NODE in the NIC's NUMA node, SYS in another one; where nothing is known, all of the
// node.
std::vector<GpuNics> ResolveGpuNics(const NodeTypeSpec& type);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_NIC_AFFINITY_H_
