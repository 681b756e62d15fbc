// ShowTraffic: who sends how much to whom, as tables, histograms and graphs.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_SHOW_TRAFFIC_H_
#define RESHARD_COMPILER_PLAN_TOOLS_SHOW_TRAFFIC_H_

#include <cstddef>
#include <ostream>

#include "compiler/plan_tools/text_table.h"
#include "runtime/plan/plan.h"

namespace reshard {

// A row for every rank: where it is, what it stores, sends and receives, its staging.
void ShowRanksText(const Plan& plan, const TextStyle& style, std::ostream& out);
void ShowRanksJson(const Plan& plan, std::ostream& out);

// How many network messages there are of which size, by powers of two.
void ShowMessagesText(const Plan& plan, const TextStyle& style, std::ostream& out);
void ShowMessagesJson(const Plan& plan, std::ostream& out);

// The network bytes between ranks (in their domains) or between domains, for Graphviz.
enum class DotNodes { kRanks, kDomains };
void ShowDot(const Plan& plan, DotNodes nodes, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_SHOW_TRAFFIC_H_
