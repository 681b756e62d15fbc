// Rules about cells and classes: class-bytes, cell-coverage, cell-target, cell-origin.
//
// Together with delivery and provenance they say that every element of every destination place is
// written once and comes from a rank that stores it.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_CELLS_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_CELLS_H_

#include <cstdint>

#include "runtime/plan/plan.h"
#include "runtime/plan/verify_log.h"

namespace reshard {

// Of the whole plan. No two cells share an element; every destination place is tiled by cells; the
// needers and holders of a class are exactly the ranks with places for its cells, which also makes
// the bytes that a cut witness counts exact.
void VerifyCells(const Plan& plan, VerifyLog* log);

// Of one rank: the cells that it needs tile its destination places, and it stores those that it
// sends.
void VerifyCellsOfRank(const Plan& plan, uint32_t rank, VerifyLog* log);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_CELLS_H_
