// MakePlan: a Plan from the results of the passes. Its bytes are SerializePlan's work.
#ifndef RESHARD_COMPILER_EMIT_WRITE_PLAN_H_
#define RESHARD_COMPILER_EMIT_WRITE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/emit/serialize_plan.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/layout/topology.h"
#include "compiler/route/routing.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"
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

}  // namespace reshard

#endif  // RESHARD_COMPILER_EMIT_WRITE_PLAN_H_
