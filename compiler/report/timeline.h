// Timeline: a few rounds of a plan, as the simulation runs them, in a few domains.
//
// The rounds are the first ones, some in the middle and the last ones; all of them when there are
// few. Everything before the rounds of a window counts as done.
#ifndef RESHARD_COMPILER_REPORT_TIMELINE_H_
#define RESHARD_COMPILER_REPORT_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/simulate/simulate.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct TimelineWindow {
  uint32_t first_round = 0;
  uint32_t end_round = 0;
  std::vector<SimSpan> spans;  // that touch one of the timeline's domains, by begin
};

struct Timeline {
  std::string failure;            // not empty: the plan cannot be simulated on its topology
  int64_t total_ns = 0;           // of the whole plan; 0: it was too large to be simulated whole
  std::vector<uint32_t> domains;  // of TimelineDomains
  std::vector<TimelineWindow> windows;
};

// The domain of the binding cut with the most bytes to move, the one whose ranks inject most, and
// the last one of the longest tree, in this order; all domains when the plan has few ranks.
std::vector<uint32_t> TimelineDomains(const Plan& plan);

// `plan` has passed the bounds rules of LoadPlan.
Timeline BuildTimeline(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_TIMELINE_H_
