// TopoSpec: a topology file as written, one field per JSON key, every field with its span.
//
// Made by ReadTopoSpec, which checks form only: keys, types, ranges of numbers, lists. Whether
// names and numbers fit together is checked when a Topology is built. Descriptive keys are checked
// for type and then dropped. The language: docs/topology.md and schemas/topo.schema.json.
#ifndef RESHARD_COMPILER_FRONTEND_TOPO_SPEC_H_
#define RESHARD_COMPILER_FRONTEND_TOPO_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"

namespace reshard {

inline constexpr uint32_t kMaxGpusPerNode = 1024;
inline constexpr uint32_t kMaxNicsPerNode = 1024;
inline constexpr size_t kMaxNicSpecs = 65536;  // over all node types
inline constexpr uint32_t kMaxTopologyRank = (1u << 20) - 1;
// 10^6 GB/s: beyond any fabric, and small enough that sums over a topology stay in 64 bits.
inline constexpr int64_t kMaxBytesPerSecond = 1'000'000'000'000'000;

// A decimal bandwidth in GB/s as exact bytes per second.
struct Located64 {
  int64_t value = 0;
  Span span;
};
struct LocatedText {
  std::string value;
  Span span;  // with the quotes
};
// A list of names in the order written, expanded.
struct HostList {
  std::vector<std::string> names;
  Span span;
};

enum class PciePath : uint8_t {
#define RESHARD_PCIE_PATH(name, text, meaning) name,
#include "compiler/frontend/pcie_paths.def"
#undef RESHARD_PCIE_PATH
};

// One NIC of a node type, already expanded from the "for" form.
struct NicSpec {
  LocatedText name;
  int64_t bytes_per_s = 0;
  std::vector<uint32_t> gpus;  // "gpu" or "gpus": those that have this NIC as their own
  std::optional<int32_t> rail;
  std::optional<uint32_t> numa;
  std::optional<PciePath> path;  // one word: to the NIC's own GPUs, else to its NUMA node's
  std::vector<std::pair<uint32_t, PciePath>> gpu_paths;  // GPU index -> distance
  bool gdr = true;   // false: traffic is copied through host memory
  bool c2c = false;  // reached through the GPU's link to the CPU
  Span span;
};

// Sets of GPU indices: NUMA nodes, PCIe switches.
using GpuSets = std::vector<std::vector<uint32_t>>;

struct PcieSpec {  // bytes per second, 0: not stated
  int64_t gpu_bytes_per_s = 0;
  int64_t same_switch_bytes_per_s = 0;
  int64_t cross_switch_bytes_per_s = 0;
  int64_t cross_numa_bytes_per_s = 0;
  int64_t host_bounce_bytes_per_s = 0;
  bool p2p = true;
  GpuSets switches;
};

struct NodeTypeSpec {
  LocatedText name;
  uint32_t gpus = 0;
  int64_t copy_bytes_per_s = 0;  // gpu.local_copy_bw, 0: not stated
  int64_t memory_bytes = 0;      // gpu.mem_gb, 0: not stated
  int64_t inter_numa_bytes_per_s = 0;
  int64_t c2c_bytes_per_s = 0;
  GpuSets numa;
  PcieSpec pcie;
  std::vector<NicSpec> nics;
};

struct NodeSpec {
  HostList nodes;
  LocatedText type;
  std::optional<LocatedText> group;
};

struct ScaleupSpec {
  LocatedText name;  // "{node}" stands for the node's name
  bool per_node = false;
  // The members of a multi-node domain; for a per-node one the nodes that have it (absent: all).
  std::optional<HostList> nodes;
  int64_t bytes_per_s = 0;
  int64_t latency_ns = 0;
  Span span;
};

struct FabricSpec {
  enum class Kind : uint8_t { kFlat, kRails, kSingleSwitch };
  LocatedText name;
  Kind kind = Kind::kFlat;
  struct Group {
    LocatedText name;
    std::optional<HostList> nodes;            // absent: the nodes that name this group
    int64_t uplink_bytes_per_s_per_leaf = 0;  // 0: not stated
    uint32_t leaf_per_rail = 1;
    Span span;
  };
  std::vector<Group> groups;
  std::optional<uint32_t> rails;
  Span rails_span;
  // Millionths: 2.0 is 2,000,000.
  std::optional<Located64> oversubscription_micro;
  int64_t total_bytes_per_s = 0;  // bw_total, 0: not stated
  int64_t latency_ns = 0;         // "lat", or that of same_rail_same_group
  int64_t cross_rail_latency_ns = 0;
  int64_t cross_group_latency_ns = 0;
  Span span;
};

struct RankRangeSpec {
  std::vector<uint32_t> ranks;  // in the order written
  Span ranks_span;
  HostList nodes;              // ranks fill the GPUs of these nodes, node after node
  std::vector<uint32_t> gpus;  // of each node, in this order; empty: all
  Span gpus_span;
};

struct OverrideSpec {
  // A NIC of one node, or a rank.
  std::optional<LocatedText> node, nic;
  int64_t bytes_per_s = 0;
  std::optional<uint32_t> rank;
  bool excluded = false;
  Span span;
};

struct TopoSpec {
  uint32_t file = Span::kNoFile;
  Span span;
  std::vector<NodeTypeSpec> node_types;
  std::vector<NodeSpec> nodes;
  std::vector<ScaleupSpec> scaleup;
  std::optional<FabricSpec> fabric;
  std::vector<RankRangeSpec> ranks;
  std::vector<OverrideSpec> overrides;
};

// Arrays of a topology file whose order has no meaning (CanonicalJson).
inline constexpr std::string_view kUnorderedInTopologies[] = {
    "fabrics", "fabrics.groups", "nodes", "overrides", "ranks", "scaleup"};

[[nodiscard]] bool ReadTopoSpec(const JsonNode& root, Diagnostics* diags, TopoSpec* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_TOPO_SPEC_H_
