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
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/plan_tools/param_parts.h"
#include "compiler/plan_tools/tensor_places.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct ParamQuery {
  PlanSide side = PlanSide::kDestination;
  Rank rank = 0;
  ParamId param;
  std::optional<std::vector<int64_t>> at;  // one element; else the whole param
};

// Elements of one tensor on their way to the ranks of one domain, as they lie in the param asked
// about and in one param of the other side.
struct ParamFlow {
  // Where ranks have them (sources that send them), or want them (destinations).
  struct End {
    RankList ranks;
    ParamBox box;
  };
  std::string tensor;
  std::vector<IndexRun> elements;  // per dim of the tensor
  int64_t bytes = 0;               // of the elements asked for
  ParamBox here;                   // the part of the param asked about
  std::vector<End> there;          // params of the other side, each once
  uint32_t cls = 0;
  uint32_t stream = 0, tree = 0;
  bool local = false;      // without network: the lander has the bytes itself
  RankList sources;        // that send these bytes
  std::vector<Rank> path;  // ranks of the tree from the head to the lander of the domain
  RankList destinations;   // ranks of the domain that need them (the rank asked about)
  uint32_t first_round = 0, last_round = 0;  // in which they reach the domain
};

struct Explanation {
  std::vector<ParamFlow> flows;  // by what of the param they are, then tensor element, then path
  bool complete = true;          // else some were left out: there are more than about kMaxFlows
};
inline constexpr size_t kMaxFlows = size_t{1} << 18;

// No flows for elements that no tensor has (padding). `at` lies inside the param.
Explanation ExplainParam(const Plan& plan, const ParamQuery& query);

enum class PassageWay : uint8_t {
#define RESHARD_PASSAGE_WAY(name, text) name,
#include "compiler/plan_tools/passage_ways.def"
#undef RESHARD_PASSAGE_WAY
};
std::string_view PassageWayText(PassageWay way);  // "inside the domain"

// A message between two ranks, or what one copies from the other.
struct Passage {
  uint32_t round = 0;
  Rank from = 0, to = 0;
  uint32_t tree = 0;
  int64_t begin = 0, bytes = 0;  // of the tree's stream
  PassageWay way = PassageWay::kNetwork;
};
// Every network message, in no order that means anything but always the same.
void ForEachPassage(const Plan& plan, const std::function<void(const Passage&)>& visit);
// All that `to` receives or copies from `from`, by round. `plan` has passed the bounds rules of
// verify.h.
std::vector<Passage> PassagesBetween(const Plan& plan, Rank from, Rank to);
// Network messages of all ranks that use the NIC, by round; nullopt when no NIC has that name.
std::optional<std::vector<Passage>> PassagesOfNic(const Plan& plan, const std::string& nic);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_EXPLAIN_H_
