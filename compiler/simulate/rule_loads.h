// RuleLoads: what a rule sends through every port, added up message by message.
//
// No order, no waiting, no cost per message: the time is that of the busiest port, which no order
// of the same messages beats. What is compared with a simulated plan this way is favoured.
#ifndef RESHARD_COMPILER_SIMULATE_RULE_LOADS_H_
#define RESHARD_COMPILER_SIMULATE_RULE_LOADS_H_

#include <cstdint>
#include <vector>

#include "compiler/simulate/fair_share.h"
#include "compiler/simulate/sim_ports.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct NicBytes {
  int64_t out = 0;  // sent
  int64_t in = 0;   // received
};

class RuleLoads {
 public:
  explicit RuleLoads(const Plan& plan) : plan_(&plan), ports_(plan, &share_) {
    bytes_.resize(share_.port_count(), 0);
  }

  // Between ranks as the plan's files number them. Nothing for a rank and itself.
  void AddMessage(uint32_t src, uint32_t dst, double bytes);

  int64_t BusiestPortNs() const;
  std::vector<NicBytes> BytesOfNics() const;  // per plan.nics

 private:
  uint32_t RankIndex(uint32_t rank) const;

  const Plan* plan_;
  FairShare share_;  // the capacities
  SimPorts ports_;
  std::vector<double> bytes_;  // per port
  std::vector<FairShare::Use> uses_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_RULE_LOADS_H_
