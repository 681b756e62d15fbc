// Explain: where the elements of one param come from or go, and what passes between ranks.
//
// Reads places, cells, pieces, trees and injects only; nothing is recomputed that the plan does not
// say. Costs time linear in the tables.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/plan_tools/tensor_places.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct ParamQuery {
  PlanSide side = PlanSide::kDestination;
  Rank rank = 0;
  ParamId param;
  std::optional<std::vector<int64_t>> at;  // one element; else the whole param
};

// Elements of one cell on their way to the ranks of one domain.
struct Flow {
  std::string tensor;                              // of the first element
  std::vector<std::pair<int64_t, int64_t>> index;  // first and last element per dim of the tensor
  int64_t bytes = 0;                               // of the elements asked for
  uint32_t cls = 0;
  uint32_t stream = 0, tree = 0;
  bool local = false;      // without network: the lander has the bytes itself
  RankList sources;        // that send these bytes
  std::vector<Rank> path;  // landers from the head to the one of the domain
  RankList destinations;   // ranks of the domain that need them (the rank asked about)
  uint32_t first_round = 0, last_round = 0;  // in which they reach the domain
};

// Flows by tensor element, then domain. Empty for elements that no tensor has (padding). `at` lies
// inside the param.
std::vector<Flow> ExplainParam(const Plan& plan, const ParamQuery& query);

// A rank that might have done what another does, with what passes through its NICs.
struct Alternative {
  Rank rank = 0;
  std::string domain;
  int64_t bytes = 0;  // sends of holders, receives of landers, over the network
  bool chosen = false;
};
// The holders of the flow's bytes, and the ranks of the domain in which they land.
std::vector<Alternative> SourceAlternatives(const Plan& plan, const Flow& flow);
std::vector<Alternative> LanderAlternatives(const Plan& plan, const Flow& flow);

// A message between two ranks.
struct Passage {
  uint32_t round = 0;
  Rank from = 0, to = 0;
  uint32_t tree = 0;
  int64_t begin = 0, bytes = 0;  // of the tree's stream
};
// Every network message, in no order that means anything but always the same.
void ForEachPassage(const Plan& plan, const std::function<void(const Passage&)>& visit);
// Network messages from `from` to `to`, by round.
std::vector<Passage> PassagesBetween(const Plan& plan, Rank from, Rank to);
// Network messages of all ranks that use the NIC, by round; nullopt when no NIC has that name.
std::optional<std::vector<Passage>> PassagesOfNic(const Plan& plan, const std::string& nic);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_H_
