// DomainLink: the arena of one rank and how its domain reaches it.
//
// Direct: every rank of the domain maps the arenas of the others, and flags beside each arena say
// what has landed and what has been read. That needs one host (or one process) and devices that
// reach each other. Otherwise what a neighbour needs goes through NCCL. Which of the two is decided
// for each domain as a whole. Owns the arena; made once per engine, collectively.
#ifndef RESHARD_RUNTIME_EXEC_NCCL_DOMAIN_LINK_H_
#define RESHARD_RUNTIME_EXEC_NCCL_DOMAIN_LINK_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/exec/backend.h"
#include "runtime/exec/nccl/copy_table.h"
#include "runtime/exec/nccl/gpu_runtime.h"
#include "runtime/exec/nccl/tuning.h"

namespace reshard::nccl {

// How bytes get from a receive slot to the other ranks of the domain.
enum class DomainPath : uint8_t {
  kAuto,    // direct where it works
  kDirect,  // an error where it does not
  kNccl,
};

class DomainLink {
 public:
  // Collective over all ranks. `comm_rank` is this rank's number in the communicator; `network_ops`
  // its most sends and receives of one round, `domain_ops` what the domain would add to them.
  struct Spec {
    GpuRuntime* gpu = nullptr;
    ControlChannel* control = nullptr;
    const EngineSpec* engine = nullptr;
    DomainPath path = DomainPath::kAuto;
    Tuning tuning;
    int32_t comm_rank = 0;
    int32_t comm_rank_count = 0;
    uint32_t network_ops = 0;
    uint32_t domain_ops = 0;
  };
  static StatusOr<std::unique_ptr<DomainLink>> Make(const Spec& spec, Deadline deadline);
  ~DomainLink();

  bool direct() const { return direct_; }
  const Tuning& tuning() const { return tuning_; }
  // Whether the domain's messages go into the groups of the network; the same on every rank.
  bool joint() const { return joint_; }
  uint8_t* arena() const { return arena_; }
  int64_t arena_bytes() const { return arena_bytes_; }
  // Of a rank of the plan, kNoRank when it is none.
  static constexpr int32_t kNoRank = -1;
  int32_t CommRankOf(uint32_t rank) const;
  int32_t comm_rank_count() const { return comm_rank_count_; }

  // By neighbour (PreparedProgram::neighbours); only when direct.
  uint8_t* neighbour_arena(size_t neighbour) const { return neighbours_[neighbour].arena; }
  // Own flags that the neighbour raises, and the neighbour's flags that this rank raises.
  uint64_t* landed_in(size_t neighbour) const { return neighbours_[neighbour].landed_in; }
  uint64_t* reads_in(size_t neighbour) const { return neighbours_[neighbour].reads_in; }
  uint64_t* landed_out(size_t neighbour) const { return neighbours_[neighbour].landed_out; }
  uint64_t* reads_out(size_t neighbour) const { return neighbours_[neighbour].reads_out; }

 private:
  struct Neighbour {
    uint8_t* arena = nullptr;
    uint8_t* opened = nullptr;  // to be closed
    uint64_t* landed_in = nullptr;
    uint64_t* reads_in = nullptr;
    uint64_t* landed_out = nullptr;
    uint64_t* reads_out = nullptr;
  };
  // What each rank tells all others.
  struct Offer {
    GpuIdentity identity;
    int32_t comm_rank = 0;
    uint32_t exported = 0;
    uint64_t address = 0;
    MemoryHandle handle;
  };
  // What each rank says after it has tried to reach the others.
  struct Outcome {
    uint32_t reached = 0;
    uint32_t network_ops = 0;
    uint32_t domain_ops = 0;
  };

  explicit DomainLink(GpuRuntime* gpu) : gpu_(gpu) {}
  Status Allocate(const Spec& spec);
  Status Exchange(const Spec& spec, Deadline deadline, std::vector<Offer>* offers);
  Status Reach(const Spec& spec, const std::vector<Offer>& offers);
  Status Decide(const Spec& spec, const Status& reached, Deadline deadline);

  GpuRuntime* gpu_;
  Tuning tuning_;
  DeviceBlock block_;  // flags, then the arena
  uint8_t* arena_ = nullptr;
  int64_t arena_bytes_ = 0;
  bool direct_ = false;
  bool joint_ = true;
  int32_t comm_rank_count_ = 0;
  std::vector<uint32_t> members_;  // of the domain, this rank included, rising
  std::vector<Neighbour> neighbours_;
  std::vector<std::pair<uint32_t, int32_t>> comm_ranks_;  // rising by rank
};

}  // namespace reshard::nccl

#endif  // RESHARD_RUNTIME_EXEC_NCCL_DOMAIN_LINK_H_
