// Demands: what each class asks of the network and of copies inside domains, before any choice.
#ifndef RESHARD_COMPILER_ROUTE_DEMANDS_H_
#define RESHARD_COMPILER_ROUTE_DEMANDS_H_

#include <cstdint>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/route/rank_set_facts.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

using DomainSetId = uint32_t;

// Bytes of a class that holders of a domain bring to needers of the same domain.
struct LocalDemand {
  ClassId cls = 0;
  DomainId domain = 0;
};

struct Demands {
  std::vector<std::vector<DomainId>> domain_sets;  // each rising
  std::vector<DomainSetId> network;  // per class: where its bytes must be sent, or kNone
  std::vector<LocalDemand> local;    // by (class, domain)
};

// Reports no-place and no-nic (nobody can send a class).
[[nodiscard]] bool FindDemands(const LogicalTable& table, const TransferSet& transfers,
                               const Topology& topology, const Ports& ports,
                               RankSetFactsTable* facts, Diagnostics* diags, Demands* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_DEMANDS_H_
