// SimPorts: the ports of a plan's topology, and which of them a transfer passes.
//
// Each direction of a NIC, of a GPU's way to its NICs, of its port into its domain and of a group's
// uplinks is a port; so are a shared switch and the memory of a GPU. Bytes of a rank are spread
// over its NICs by bandwidth. Uplinks and switches that all NICs below them together cannot fill
// are left out: they never limit anything.
#ifndef RESHARD_COMPILER_SIMULATE_SIM_PORTS_H_
#define RESHARD_COMPILER_SIMULATE_SIM_PORTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/simulate/fair_share.h"
#include "runtime/plan/plan.h"

namespace reshard {

class SimPorts {
 public:
  // Adds its ports to `share`. Ranks below are indices into plan.ranks.
  SimPorts(const Plan& plan, FairShare* share);

  // A message takes NICs, or the scale-up fabric where the two share a domain. What a transfer
  // passes is appended to `uses`. The result is its latency.
  int64_t MessageNs(uint32_t src, uint32_t dst, std::vector<FairShare::Use>* uses) const;
  // A copy, by `reader`, of what lies at `lander` (maybe itself).
  int64_t CopyNs(uint32_t lander, uint32_t reader, std::vector<FairShare::Use>* uses) const;
  void Pack(uint32_t rank, std::vector<FairShare::Use>* uses) const;

  // Empty, or why bytes cannot get from one rank to another.
  std::string MessageProblem(uint32_t src, uint32_t dst) const;
  std::string CopyProblem(uint32_t lander, uint32_t reader) const;

  // Ports [0, 2 * NICs) are NICs, the next [0, 2 * sites) are scale-up ports: out, then in.
  size_t nic_count() const { return nic_count_; }
  size_t named_port_count() const { return 2 * (nic_count_ + site_count_); }

 private:
  struct Direction {
    std::vector<FairShare::Use> network;  // NICs and the way to them
    std::vector<FairShare::Use> uplink;
  };
  struct Site {
    Direction out, in;
    FairShare::Use scaleup_out, scaleup_in;
    bool has_scaleup = false;
    std::vector<FairShare::Use> memory;
  };

  void AddNics(const Plan& plan, FairShare* share);
  void AddSiteLimits(const Plan& plan, FairShare* share);
  void AddSharedLimits(const Plan& plan, FairShare* share);
  const PlanSite& site_of(uint32_t rank) const { return plan_->sites[site_of_rank_[rank]]; }
  const Site& ports_of(uint32_t rank) const { return sites_[site_of_rank_[rank]]; }
  std::string Name(uint32_t rank) const;
  bool SameDomain(uint32_t a, uint32_t b) const { return site_of(a).domain == site_of(b).domain; }
  int64_t NetworkLatencyNs(const PlanSite& from, const PlanSite& to) const;

  const Plan* plan_;
  size_t nic_count_ = 0;
  size_t site_count_ = 0;
  std::vector<uint32_t> site_of_rank_;  // per plan.ranks
  std::vector<Site> sites_;
  std::vector<FairShare::Use> fabric_;  // the shared switch, where it limits
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_SIM_PORTS_H_
