// TopoSpec: a topology file as written, one field per JSON key, every field with its span.
//
// Made by ReadTopoSpec, which checks form only. The language: docs/topology.md and
// schemas/topo.schema.json. Descriptive keys are checked for type and then dropped.
#ifndef RESHARD_COMPILER_FRONTEND_TOPO_SPEC_H_
#define RESHARD_COMPILER_FRONTEND_TOPO_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"

namespace reshard {

// A decimal bandwidth in GB/s as exact bytes per second, a latency in us as nanoseconds.
struct Located64 {
  int64_t value = 0;
  Span span;
};
struct LocatedText {
  std::string value;
  Span span;
};

// One NIC of a node type, already expanded from the "for" form.
struct NicSpec {
  LocatedText name;
  Located64 bytes_per_s;
  std::vector<uint32_t> gpus;  // attached GPUs ("gpu" or "gpus", or the nearest ones by "path")
  std::optional<int32_t> rail;
  std::optional<uint32_t> numa;
  // GPU index -> PCIe distance word (PIX, PXB, PHB, NODE, SYS), where "path" is given per GPU.
  std::vector<std::pair<uint32_t, std::string>> path;
  bool gdr = true;
  Span span;
};

struct NodeTypeSpec {
  LocatedText name;
  uint32_t gpus = 0;
  int64_t copy_bytes_per_s = 0;  // gpu.local_copy_bw
  int64_t memory_bytes = 0;      // gpu.mem_gb
  std::vector<std::vector<uint32_t>> numa;
  struct Pcie {
    int64_t gpu_bytes_per_s = 0;
    int64_t same_switch_bytes_per_s = 0;
    int64_t cross_switch_bytes_per_s = 0;
    int64_t cross_numa_bytes_per_s = 0;
    int64_t host_bounce_bytes_per_s = 0;
    bool p2p = true;
    std::vector<std::vector<uint32_t>> switches;
  };
  std::optional<Pcie> pcie;
  int64_t inter_numa_bytes_per_s = 0;
  std::vector<NicSpec> nics;
  Span span;
};

struct NodeSpec {
  std::vector<std::string> names;  // expanded, in order
  LocatedText type;
  std::optional<LocatedText> group;
  Span names_span;
};

struct ScaleupSpec {
  LocatedText name;  // may hold "{node}"
  bool per_node = false;
  std::vector<std::string> nodes;  // expanded, when not per node
  Located64 bytes_per_s;
  int64_t latency_ns = 0;
  Span span;
};

struct FabricSpec {
  enum class Kind : uint8_t { kFlat, kRails, kSingleSwitch };
  LocatedText name;
  Kind kind = Kind::kFlat;
  struct Group {
    LocatedText name;
    std::vector<std::string> nodes;
    Span nodes_span;
    std::optional<Located64> uplink_bytes_per_s_per_leaf;
    uint32_t leaf_per_rail = 1;
  };
  std::vector<Group> groups;
  uint32_t rails = 0;
  // Thousandths: 2.0 is 2000.
  std::optional<int64_t> oversubscription_milli;
  int64_t total_bytes_per_s = 0;  // bw_total
  int64_t latency_ns = 0;         // "lat", or that of same_rail_same_group
  int64_t cross_rail_latency_ns = 0;
  int64_t cross_group_latency_ns = 0;
  Span span;
};

struct RankRangeSpec {
  std::vector<uint32_t> ranks;     // expanded, in order
  std::vector<std::string> nodes;  // expanded, in order; ranks fill their GPUs node after node
  std::optional<uint32_t> gpu;     // the {"rank","node","gpu"} form
  Span ranks_span, nodes_span;
};

struct OverrideSpec {
  std::optional<LocatedText> node, nic;
  std::optional<Located64> bytes_per_s;
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
  std::vector<FabricSpec> fabrics;
  std::vector<RankRangeSpec> ranks;
  std::vector<OverrideSpec> overrides;
};

// "su0n[00-31,40]" as Slurm expands it, "a,b[1-2]" too. Reports syntax errors and more than
// kMaxHosts names, before expanding.
inline constexpr size_t kMaxHosts = 1u << 20;
[[nodiscard]] bool ExpandHostList(const LocatedText& list, Diagnostics* diags,
                                  std::vector<std::string>* out);

[[nodiscard]] bool ReadTopoSpec(const JsonNode& root, Diagnostics* diags, TopoSpec* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_TOPO_SPEC_H_
