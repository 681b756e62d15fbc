// Jobs made by hand for tests of routing and scheduling: a topology and the classes to move.
#ifndef RESHARD_COMPILER_ROUTE_TESTING_JOB_H_
#define RESHARD_COMPILER_ROUTE_TESTING_JOB_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard::testing {

struct Job {
  LogicalTable table;
  Topology topology;
  TransferSet transfers;

  Job();
  // Appends a domain of `rank_count` ranks; every `ranks_per_nic` of them share a NIC. 0: no NICs.
  void AddDomain(uint32_t rank_count, int64_t nic_bytes_per_s, uint32_t ranks_per_nic = 1);
  // Appends a class whose cells have these many bytes.
  void AddClass(const RankList& holders, const RankList& needers,
                const std::vector<int64_t>& cell_bytes);
  RankSite& site(Rank rank) { return topology.sites[topology.site_index.at(rank)]; }
};

// Ranks first, first + stride, ...
RankList Strided(Rank first, uint32_t count, uint32_t stride);

// A mixture-of-experts model of `model_bytes` with DeepSeek-V3's shape: on the source PP stages of
// EP ranks each (times EDP expert replicas), on the destination replicas of TP ranks. 97 % of the
// bytes are experts; of the dense rest half is replicated in each TP group. 8 GPUs a domain.
struct MoeShape {
  uint32_t pp = 4, ep = 16, edp = 2;
  uint32_t tp = 8, replicas = 16;
  int64_t model_bytes = int64_t{1'342'000'000'000};
  int64_t source_rate = 50'000'000'000, destination_rate = 50'000'000'000;
};
Job MoeJob(const MoeShape& shape);

}  // namespace reshard::testing

#endif  // RESHARD_COMPILER_ROUTE_TESTING_JOB_H_
