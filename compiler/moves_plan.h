// MovesPlan: what a schedule moves, as a plan that can be simulated before anything is decided.
//
// Of a plan it has only what moves and over what: classes, streams, trees, injects, ranks,
// topology. Tensors, params and most totals are absent, so it is no plan that could be written or
// verified.
#ifndef RESHARD_COMPILER_MOVES_PLAN_H_
#define RESHARD_COMPILER_MOVES_PLAN_H_

#include <cstdint>

#include "compiler/layout/topology.h"
#include "compiler/schedule/schedule.h"
#include "compiler/transfer/transfer_set.h"
#include "runtime/plan/plan.h"

namespace reshard {

Plan MovesPlan(const TransferSet& transfers, const Topology& topology, const Schedule& schedule);

}  // namespace reshard

#endif  // RESHARD_COMPILER_MOVES_PLAN_H_
