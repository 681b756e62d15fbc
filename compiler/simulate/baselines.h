// Baselines: what other ways to move the same weights would take on the same topology.
//
// Each is a rule, applied to the classes, cells and places of a plan; its loads are added up
// exactly and its time is that of the busiest port (rule_loads.h). docs/simulate.md states each
// rule.
#ifndef RESHARD_COMPILER_SIMULATE_BASELINES_H_
#define RESHARD_COMPILER_SIMULATE_BASELINES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/simulate/rule_loads.h"
#include "runtime/plan/plan.h"

namespace reshard {

enum class BaselineKind : uint8_t {
#define RESHARD_BASELINE(name, text, meaning) name,
#include "compiler/simulate/baselines.def"
#undef RESHARD_BASELINE
};
std::string_view BaselineText(BaselineKind kind);

struct Baseline {
  BaselineKind kind{};
  int64_t time_ns = 0;
  int64_t busiest_port_ns = 0;  // of its loads alone
  int64_t most_nic_bytes = 0;   // one direction of one NIC
  int64_t buffer_bytes = 0;     // that a rank needs beside its params, at least
  std::vector<NicBytes> nics;   // per plan.nics
};

// All of them, in the order of the list. `plan` has passed the bounds rules of LoadPlan, and its
// topology connects every two of its ranks (else: empty).
std::vector<Baseline> ComputeBaselines(const Plan& plan, int64_t round_cost_ns);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_BASELINES_H_
