// LoadRank: what one rank does with a plan file before it runs its part.
//
// Reads the file as LoadPlan does, which checks every digest and every bound, then the local rules
// of the rank (verify.h). The global rules are not checked: they take longer, are the same for all
// ranks, and are proven once, before a plan is given out. Ranks compare the root digest before the
// first byte moves.
#ifndef RESHARD_RUNTIME_PLAN_LOAD_RANK_H_
#define RESHARD_RUNTIME_PLAN_LOAD_RANK_H_

#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/program.h"

namespace reshard {

struct LoadedRank {
  LoadedPlan loaded;
  Program program;  // what the rank does; its local rules hold
};

// kNotFound when the plan has no such rank, kCorruptData when a local rule is broken,
// kLimitExceeded when checking it would take too long.
StatusOr<LoadedRank> LoadRankFile(const std::string& path, uint32_t rank,
                                  const LoadOptions& options);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_LOAD_RANK_H_
