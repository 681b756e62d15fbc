#include "compiler/simulate/rule_loads.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/rank_rows.h"

namespace reshard {

void RuleLoads::AddMessage(uint32_t src, uint32_t dst, double bytes) {
  if (src == dst) return;
  uses_.clear();
  ports_.MessageNs(RankIndex(src), RankIndex(dst), &uses_);
  for (const FairShare::Use& use : uses_) bytes_[use.port] += bytes * use.weight;
}

int64_t RuleLoads::BusiestPortNs() const {
  double busiest_s = 0;
  for (uint32_t port = 0; port < bytes_.size(); ++port) {
    busiest_s = std::max(busiest_s, bytes_[port] / share_.capacity(port));
  }
  return std::llround(busiest_s * 1e9);
}

int64_t RuleLoads::MostNicBytes() const {
  double most = 0;
  for (size_t port = 0; port < 2 * ports_.nic_count(); ++port) most = std::max(most, bytes_[port]);
  return std::llround(most);
}

uint32_t RuleLoads::RankIndex(uint32_t rank) const {
  return static_cast<uint32_t>(RowOfRank(plan_->ranks, rank));
}

}  // namespace reshard
