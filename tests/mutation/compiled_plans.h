// Plans that the compiler makes of small jobs, for mutations.
#ifndef RESHARD_TESTS_MUTATION_COMPILED_PLANS_H_
#define RESHARD_TESTS_MUTATION_COMPILED_PLANS_H_

#include <vector>

#include "runtime/plan/testing/small_plan.h"

namespace reshard::testing {

// Few ranks and bytes, so that a mutant can be executed: experts over pipeline stages into fused
// and padded tensor-parallel params, relayed to three domains; uneven shards of colocated ranks.
std::vector<NamedPlan> CompiledPlans();

// The layouts of real models with small symbols: the structure of 128 and more ranks, megabytes.
std::vector<NamedPlan> ModelPlans();

}  // namespace reshard::testing

#endif  // RESHARD_TESTS_MUTATION_COMPILED_PLANS_H_
