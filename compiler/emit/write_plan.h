// Plan bytes from the results of the passes.
#ifndef RESHARD_COMPILER_EMIT_WRITE_PLAN_H_
#define RESHARD_COMPILER_EMIT_WRITE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"
#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct PlanInputs {
  const LogicalTable* table = nullptr;
  const Layout* source = nullptr;
  const Layout* destination = nullptr;
  const Topology* topology = nullptr;
  const TransferSet* transfers = nullptr;
  const Routing* routing = nullptr;
  const Schedule* schedule = nullptr;
  Digest train_digest{}, infer_digest{}, topo_digest{};
  std::vector<std::pair<std::string, std::string>> options;
};

// Fills tables, slot sizes and totals.
Plan MakePlan(const PlanInputs& inputs);

// The bytes of the file, with section and root digests. Equal plans give equal bytes. Error when
// they would not fit a FlatBuffer (2 GiB).
StatusOr<std::vector<uint8_t>> SerializePlan(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_WRITE_PLAN_H_
