// Plan: the content of a plan file as plain data.
//
// The compiler fills one and writes it; LoadPlan reads one back into private memory. Everything a
// rank does follows from these tables through ExpandProgram (program.h), the only definition of a
// rank's program. The format is described in schemas/plan.fbs and docs/plan.md. Indices refer to
// the vectors of this struct. A Plan that came from a file is trusted only after the checks of
// verify.h.
#ifndef RESHARD_RUNTIME_PLAN_PLAN_H_
#define RESHARD_RUNTIME_PLAN_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/rank_set.h"
#include "runtime/plan/cut_kinds.h"
#include "runtime/plan/tree_kinds.h"

namespace reshard {

inline constexpr uint32_t kPlanVersion = 1;
inline constexpr uint32_t kNoId = UINT32_MAX;
// Every rank receives into slot (round % kRecvSlots), forwards from it in the next round, and has
// finished with it before round + kRecvSlots. Sources pack round r into slot (r % kPackSlots).
inline constexpr uint32_t kRecvSlots = 3;
inline constexpr uint32_t kPackSlots = 2;
inline constexpr int64_t kSlotAlignBytes = 256;  // offset of each slice or message in its slot
inline constexpr int64_t kCutAlignBytes = 16;    // where the schedule may cut inside a cell
inline constexpr uint32_t kMaxOpsPerRound = 32;  // network operations of one rank
inline constexpr uint32_t kMaxSourcesPerSlice = 16;
inline constexpr size_t kMaxPlanDims = 64;                   // of a super-tensor, a param or a fill
inline constexpr int64_t kMaxRankParams = int64_t{1} << 24;  // param buffers of one rank
inline constexpr int64_t kMaxPlanBytes = int64_t{1} << 60;   // of all that a plan moves or stores

using Digest = std::array<uint8_t, 32>;

// A super-tensor: see compiler/layout/logical_table.h for the idea. Axes: loops, then the shape.
struct PlanSuper {
  NamePattern name;  // holes over the loop axes
  DType dtype = DType::kBf16;
  std::vector<int64_t> loop_begin, loop_extent;
  std::vector<int64_t> shape;
  // Index along dims[i].axis = sum over its dims of (dim index * weight).
  struct Dim {
    uint32_t axis = 0;
    int64_t weight = 1;
  };
  std::vector<Dim> dims;
};

enum class PlanSide : uint8_t { kSource = 0, kDestination = 1 };

// Equal param buffers: the same on every rank of the set, one instance per value of its loops
// (row-major over loop_begin/loop_extent).
struct PlanFamily {
  PlanSide side = PlanSide::kSource;
  NamePattern name;
  std::vector<NamePattern> shares;  // further names of the same buffers
  std::vector<int64_t> loop_begin, loop_extent;
  std::vector<int64_t> shape;
  DType dtype = DType::kBf16;
  int64_t bytes = 0;  // of one instance
  uint32_t rank_set = 0;
  bool external = false;
};

struct PlanDimRange {
  int64_t begin = 0;
  int64_t extent = 1;
  int64_t stride_bytes = 0;
  int64_t instance_stride = 0;
};
// A box of a super-tensor inside a family's buffers; dims are place_dims[first_dim ...], as many
// as the super-tensor has. See BoxPlace in compiler/transfer/transfer_set.h.
struct PlanPlace {
  uint32_t super = 0;
  uint32_t family = 0;
  int64_t base_bytes = 0;
  int64_t base_instance = 0;
  uint32_t first_dim = 0;
};

enum class PlanFillRule : uint8_t { kZero = 0, kKeep = 1 };
struct PlanFillDim {
  int64_t extent = 1;
  int64_t stride_bytes = 0;
};
struct PlanFill {
  uint32_t family = 0;
  PlanFillRule rule = PlanFillRule::kZero;
  int64_t base_bytes = 0;
  uint32_t first_dim = 0;  // of fill_dims
  uint32_t dim_count = 0;
};

struct PlanInterval {
  int64_t begin = 0;
  int64_t extent = 1;
  bool operator==(const PlanInterval&) const = default;
};
// A box; its dims are intervals[cell_dims[first_dim + d]].
struct PlanCell {
  uint32_t super = 0;
  uint32_t first_dim = 0;
};
// Bytes of a class: its cells in order, each row-major over its box, elements in memory order.
struct PlanClass {
  uint32_t holders = 0;  // rank sets
  uint32_t needers = 0;
  int64_t bytes = 0;
  uint32_t first_cell = 0;
  uint32_t cell_count = 0;
};

struct PlanPiece {
  uint32_t cls = 0;
  int64_t begin = 0;  // in the class
  int64_t extent = 0;
};
// Bytes of a stream: its pieces in order.
struct PlanStream {
  uint32_t first_piece = 0;
  uint32_t piece_count = 0;
  int64_t bytes = 0;
  bool local = false;  // no network: the only lander packs its own bytes
};

// tree_members[first_member ...]: ranks in different domains, the head first. The parent and the
// depth of a position are TreeParent and TreeDepth (program.h). A member is the lander of its
// domain where anybody there needs the stream, and only passes it on elsewhere.
struct PlanTree {
  uint32_t stream = 0;
  PlanTreeKind kind = PlanTreeKind::kChain;
  uint32_t first_member = 0;
  uint32_t member_count = 0;
};

// In `round`, `source` sends bytes [begin, begin + extent) of the tree's stream to its head, over
// the scale-up fabric where both are in one domain. The injects of one (tree, round) are one slice:
// together a contiguous run of the stream.
struct PlanInject {
  uint32_t round = 0;
  uint32_t tree = 0;
  uint32_t source = 0;
  int64_t begin = 0;
  int64_t extent = 0;
};

// One per rank that holds, needs or passes on anything. injects[first_inject ...] are those it
// sends.
struct PlanRank {
  uint32_t rank = 0;
  uint32_t first_inject = 0;
  uint32_t inject_count = 0;
  int64_t recv_slot_bytes = 0;
  int64_t pack_slot_bytes = 0;
  int64_t staging_bytes() const {
    return kRecvSlots * recv_slot_bytes + kPackSlots * pack_slot_bytes;
  }
};

struct PlanNic {
  std::string name;
  int64_t bytes_per_s = 0;
  int32_t rail = -1;
};
struct PlanDomain {
  std::string name;
  int64_t bytes_per_s = 0;
  int64_t latency_ns = 0;
};
struct PlanGroup {
  std::string name;
  int64_t uplink_bytes_per_s = 0;
};
struct PlanSite {
  uint32_t rank = 0;
  std::string node;
  uint32_t gpu = 0;
  uint32_t domain = 0;
  uint32_t group = kNoId;
  std::vector<uint32_t> nics;
  int64_t host_bytes_per_s = 0;
  int64_t copy_bytes_per_s = 0;
  int64_t memory_bytes = 0;
};
struct PlanFabric {
  bool rails = false;
  int64_t bytes_per_s = 0;
  int64_t latency_ns = 0;
  int64_t cross_rail_latency_ns = 0;
  int64_t cross_group_latency_ns = 0;
};

// No schedule moves `bytes` through the ports that `kind` and `members` name in less than bytes /
// bytes_per_s.
struct PlanCut {
  PlanCutKind kind = PlanCutKind::kIngress;
  std::vector<uint32_t> members;  // rising: domains, groups or rank numbers, as the kind says
  int64_t bytes = 0;
  int64_t bytes_per_s = 0;
};

struct PlanTotals {
  int64_t source_bytes = 0;  // stored on the source side, all ranks; without external params
  int64_t destination_bytes = 0;
  int64_t network_bytes = 0;      // between domains, every hop counted
  int64_t scaleup_bytes = 0;      // copied from a lander, or sent, to another rank of a domain
  int64_t local_bytes = 0;        // copied inside one rank
  int64_t messages = 0;           // network sends
  int64_t max_staging_bytes = 0;  // largest arena of any rank
  uint32_t rounds = 0;            // 1 + the last round in which anything moves
  int64_t predicted_ns = 0;       // by rounds and by shared ports: docs/plan.md
  int64_t bound_ns = 0;           // of the binding cut, rounded down
};

struct PlanHeader {
  uint32_t version = kPlanVersion;
  Digest train_digest{}, infer_digest{}, topo_digest{};      // SHA-256 of the canonical inputs
  std::vector<std::pair<std::string, std::string>> options;  // name, value; rising by name
  PlanTotals totals;
};

struct Plan {
  PlanHeader header;
  std::vector<RankList> rank_sets;
  // names and topology
  std::vector<PlanSuper> supers;
  std::vector<PlanFamily> families;
  std::vector<PlanNic> nics;
  std::vector<PlanDomain> domains;
  std::vector<PlanGroup> groups;
  std::vector<PlanSite> sites;  // rising by rank
  PlanFabric fabric;
  std::vector<PlanCut> cuts;  // the binding one first
  // where bytes are
  std::vector<PlanPlace> places;
  std::vector<PlanDimRange> place_dims;
  std::vector<PlanFill> fills;
  std::vector<PlanFillDim> fill_dims;
  // what moves
  std::vector<PlanInterval> intervals;
  std::vector<PlanCell> cells;
  std::vector<uint32_t> cell_dims;
  std::vector<PlanClass> classes;
  // how
  std::vector<PlanStream> streams;
  std::vector<PlanPiece> pieces;
  std::vector<PlanTree> trees;
  std::vector<uint32_t> tree_members;
  std::vector<PlanInject> injects;  // by (source, round, tree)
  std::vector<PlanRank> ranks;      // rising by rank
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_PLAN_H_
