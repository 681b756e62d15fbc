// NetPlan: plans for tests of the simulation, made of ranks, ports and transfers alone.
//
// One class and one piece per stream, no tensors: what the simulation reads and nothing else.
#ifndef RESHARD_COMPILER_SIMULATE_TESTING_NET_PLAN_H_
#define RESHARD_COMPILER_SIMULATE_TESTING_NET_PLAN_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard::testing {

class NetPlan {
 public:
  // Returns the domain; 0 bytes per second: of one GPU.
  uint32_t AddDomain(int64_t bytes_per_s = 0, int64_t latency_ns = 0);
  // Returns the rank: 0, 1, ... It has a NIC of its own for each bandwidth.
  uint32_t AddRank(uint32_t domain, const std::vector<int64_t>& nic_bytes_per_s);
  // `count` ranks, each in a domain of its own with one NIC; the first is returned.
  uint32_t AddLoneRanks(uint32_t count, int64_t nic_bytes_per_s);
  // Returns the tree, a chain of `members`. Its bytes are needed by `needers`.
  uint32_t AddStream(const std::vector<uint32_t>& members, const std::vector<uint32_t>& needers,
                     int64_t bytes);
  void AddInject(uint32_t round, uint32_t tree, uint32_t source, int64_t begin, int64_t extent);
  // In `round`, all at once: a stream of `bytes` from `source` to `destination`.
  void AddMessage(uint32_t round, uint32_t source, uint32_t destination, int64_t bytes);

  PlanFabric& fabric() { return plan_.fabric; }
  PlanSite& site(uint32_t rank) { return plan_.sites[rank]; }
  uint32_t AddGroup(int64_t uplink_bytes_per_s);

  // The plan with its injects in order.
  Plan Finish() const;

 private:
  Plan plan_;
};

}  // namespace reshard::testing

#endif  // RESHARD_COMPILER_SIMULATE_TESTING_NET_PLAN_H_
