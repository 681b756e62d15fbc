// PlanSummary: the figures of a plan that people look at first.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SUMMARY_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SUMMARY_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "compiler/plan_tools/text_table.h"
#include "runtime/base/rank_set.h"
#include "runtime/plan/plan.h"

namespace reshard {

class JsonWriter;

struct SideSummary {
  int64_t ranks = 0;
  int64_t params = 0;  // param buffers, all ranks together
  int64_t bytes = 0;   // stored, all ranks together
};

struct PlanSummary {
  int64_t tensors = 0;  // logical
  SideSummary source, destination;
  int64_t domains_fed = 0;           // domains that get bytes over the network
  int64_t needed_network_bytes = 0;  // each byte once into each domain that needs and lacks it
  std::string binding_cut;           // in words; empty without cuts
  std::string no_bound;              // why there is no cut; empty where there is one
  RankList relaying_ranks;           // that hold and need nothing and pass on what others do
  int64_t relay_bound_ns = 0;        // if only holders and needers relay; 0: no more than the bound
  double ratio = 0;                  // predicted time / bound; 0 when there is no bound
  int64_t busiest_ns = 0;            // what the bytes of the busiest NIC, or way to one, take alone
  double balance = 0;                // that / bound; 0 when there is no bound
};

PlanSummary Summarize(const Plan& plan);

// "by rank 10, which holds and needs nothing": who only passes bytes on; empty where nobody does.
std::string RelayingText(const PlanSummary& summary);
// "4.6 us (ingress of infer03: ...), ratio 1.015, balance 1.000", or "none: " and why.
std::string BoundText(const Plan& plan, const PlanSummary& summary);
// The bound with its assumption, where there is one.
std::string RelayBoundText(const PlanSummary& summary);

// The lines that `compile` and `show` open with.
void PrintSummary(const Plan& plan, const PlanSummary& summary, int64_t plan_bytes,
                  const TextStyle& style, std::ostream& out);

// The same as fields of the object that is open in `json`.
void WriteSummary(const Plan& plan, const PlanSummary& summary, int64_t plan_bytes,
                  JsonWriter* json);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SUMMARY_H_
