// Topology: what connects the ranks. Resolved from a topology file; immutable.
//
// Bandwidths are bytes per second and direction, exact integers (a decimal in GB/s times 1e9);
// latencies are nanoseconds. Only ranks that the file places exist here.
#ifndef RESHARD_COMPILER_LAYOUT_TOPOLOGY_H_
#define RESHARD_COMPILER_LAYOUT_TOPOLOGY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/topo_spec.h"
#include "runtime/base/rank_set.h"
#include "runtime/plan/plan_options.h"

namespace reshard {

using NodeId = uint32_t;
using NicId = uint32_t;
using DomainId = uint32_t;
using GroupId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

struct Node {
  std::string name;
  uint32_t type = 0;  // of TopoSpec::node_types
  GroupId group = kNone;
};

struct Nic {
  std::string name;  // "train00/mlx5_3"
  NodeId node = 0;
  int64_t bytes_per_s = 0;
  int32_t rail = -1;  // -1: none
};

// A set of GPUs on one scale-up fabric; a GPU without one is a domain of its own.
struct Domain {
  std::string name;
  int64_t bytes_per_s = 0;  // per GPU and direction; 0 for a domain of one
  int64_t latency_ns = 0;
  RankList ranks;           // placed ranks only
  std::vector<NicId> nics;  // of the nodes in it, those that its ranks can use
};

struct RankSite {
  Rank rank = 0;
  NodeId node = 0;
  uint32_t gpu = 0;
  DomainId domain = 0;
  GroupId group = kNone;
  std::vector<NicId> nics;       // nearest ones: its traffic is spread by their bandwidth
  int64_t host_bytes_per_s = 0;  // PCIe or host-bounce limit between GPU and NIC, 0: none
  int64_t copy_bytes_per_s = 0;  // local_copy_bw, 0: not stated
  int64_t memory_bytes = 0;      // mem_gb, 0: not stated
  bool excluded = false;         // by an override: sends and receives nothing
};

// Nodes behind shared uplinks of an oversubscribed fabric.
struct Group {
  std::string name;
  int64_t uplink_bytes_per_s = 0;  // into and out of the group, each direction; 0: not limiting
};

struct Topology {
  uint32_t file = Span::kNoFile;
  std::vector<Node> nodes;
  std::vector<Nic> nics;
  std::vector<Domain> domains;
  std::vector<Group> groups;
  std::vector<RankSite> sites;          // rising by rank
  std::map<Rank, uint32_t> site_index;  // rank -> position in sites
  bool rails = false;                   // traffic between different rails takes the spine
  int64_t fabric_bytes_per_s = 0;       // total of a shared switch, 0: none
  int64_t latency_ns = 0;               // same rail and group
  int64_t cross_rail_latency_ns = 0;
  int64_t cross_group_latency_ns = 0;
  // What a round of messages costs, launch and barrier: no file says it, it is an option of
  // compile.
  int64_t round_ns = kDefaultRoundNs;

  const RankSite* Site(Rank rank) const;  // nullptr when the rank has no place
};

// Takes ranks away as if the file did not place them: their NICs carry nothing where no other rank
// uses them. Domains keep their numbers.
void RemoveRanks(const RankList& ranks, Topology* topology);

[[nodiscard]] bool BuildTopology(const TopoSpec& spec, Diagnostics* diags, Topology* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_TOPOLOGY_H_
