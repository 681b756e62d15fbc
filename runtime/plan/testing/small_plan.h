// Small valid plans made by hand, for tests of everything that reads plans.
//
// No code of the compiler and none of runtime/plan takes part: every index, slot size and total is
// written down, so that a test which compares with them compares with an independent answer. All
// NICs carry 1 GB/s, so that a byte costs a nanosecond; a round costs 20 us more.
#ifndef RESHARD_RUNTIME_PLAN_TESTING_SMALL_PLAN_H_
#define RESHARD_RUNTIME_PLAN_TESTING_SMALL_PLAN_H_

#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard::testing {

// An 8x8 f32 matrix: ranks 0 and 1 hold four rows each, ranks 2 to 5 need two columns each.
// 8 messages of 4 rows x 8 bytes, two rounds.
Plan ToyPlan();

// A 32x64 bf16 matrix that ranks 0 and 1 both hold and ranks 2 to 7 (three domains of two) need:
// one tree, the chain 2 -> 5 -> 6, four slices of 1024 bytes from both sources, six rounds; every
// lander has a neighbour that copies from it.
Plan ReplicatedPlan();

// The same along a binary tree: 2 sends to 5 and 6, so that five rounds are enough.
Plan BinaryPlan();

// Experts of two layers, four per layer: ranks 0 and 1 hold two consecutive ones each, one param
// per layer and expert; rank 2 needs the even ones stacked and padded by a zero row, rank 3 the odd
// ones stacked and transposed. Cuts inside classes, a param with a second name, an external param.
Plan ExpertPlan();

// Source and destination on the same four ranks: row r of a 4x32 f32 matrix lies on rank r; ranks 0
// to 2 need all rows, rank 3 only its own. Four local streams, two over the network.
Plan ColocatedPlan();

// The matrix of ReplicatedPlan, held by rank 0 alone. Rank 1, which holds nothing, carries it: rank
// 0 hands each slice over inside their domain, 1 sends it to 2, and 2 to 5 and 6.
Plan CarriedPlan();

struct NamedPlan {
  std::string name;
  Plan plan;
};
// All of the above.
std::vector<NamedPlan> SmallPlans();

}  // namespace reshard::testing

#endif  // RESHARD_RUNTIME_PLAN_TESTING_SMALL_PLAN_H_
