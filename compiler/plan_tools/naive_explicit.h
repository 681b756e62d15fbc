// Params that are written out rank by rank, for the naive interpreter (naive_layout.h).
#ifndef RESHARD_COMPILER_PLAN_TOOLS_NAIVE_EXPLICIT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_NAIVE_EXPLICIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/plan_tools/naive_layout.h"
#include "compiler/plan_tools/naive_scope.h"

namespace reshard {

// Appends the ranks of one instance, in the order written.
bool NaiveExplicitRanks(const ExplicitSpec& spec, const NaiveScope& scope, std::string* error,
                        std::vector<uint32_t>* out);
// Appends the instance's param when `rank` is one of its ranks.
bool AddNaiveExplicit(const ExplicitSpec& spec, uint32_t rank, const NaiveTensors& tensors,
                      const NaiveScope& scope, NaiveOps* ops, std::vector<NaiveParam>* out,
                      std::string* error);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_NAIVE_EXPLICIT_H_
