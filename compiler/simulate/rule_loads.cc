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

std::vector<NicBytes> RuleLoads::BytesOfNics() const {
  std::vector<NicBytes> nics;
  for (size_t nic = 0; nic < ports_.nic_count(); ++nic) {
    nics.push_back({std::llround(bytes_[2 * nic]), std::llround(bytes_[2 * nic + 1])});
  }
  return nics;
}

uint32_t RuleLoads::RankIndex(uint32_t rank) const {
  return static_cast<uint32_t>(RowOfRank(plan_->ranks, rank));
}

}  // namespace reshard
