// A simulation for people and for programs.
#ifndef RESHARD_COMPILER_SIMULATE_SIM_REPORT_H_
#define RESHARD_COMPILER_SIMULATE_SIM_REPORT_H_

#include <ostream>
#include <vector>

#include "compiler/simulate/baselines.h"
#include "compiler/simulate/simulate.h"
#include "runtime/plan/plan.h"

namespace reshard {

// What was simulated: the plan, maybe on another topology than its own.
struct SimCase {
  const Plan& plan;
  const SimOptions& options;
  const SimResult& result;
  bool other_topology = false;  // the bound and the prediction are of the plan's own
  const std::vector<Baseline>* baselines = nullptr;  // null: not asked for
};

void PrintSimulation(const SimCase& sim, std::ostream& out);
// One object of schema "reshardc-simulate/1".
void PrintSimulationJson(const SimCase& sim, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_SIM_REPORT_H_
