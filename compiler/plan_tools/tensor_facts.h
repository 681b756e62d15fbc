// TensorFacts: where and how one plan holds, needs and moves the tensors of its templates, in ids
// that can be compared with those of another plan.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_TENSOR_FACTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_TENSOR_FACTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/plan_tools/content_ids.h"
#include "compiler/plan_tools/element_coverage.h"
#include "runtime/plan/plan.h"

namespace reshard {

// One tensor on one side. Equal ids: the same parts on as many ranks; the same parts on the same
// ranks; the same parts on the same ranks, at the same bytes of the same params. What is cut in
// another way has other ids, see HeldParts.
struct TensorHolding {
  ContentIds::Id parts = 0;
  ContentIds::Id of_ranks = 0;
  ContentIds::Id placing = 0;
  bool held = false;  // somewhere
};

// What `parts` of a TensorHolding stand for.
std::vector<CoveredBox> BoxesOfParts(ContentIds::Id parts, const ContentIds& ids);

class TensorFacts {
 public:
  // `ids` is shared with the facts of the plan to compare with; both outlive this.
  TensorFacts(const Plan& plan, ContentIds* ids);

  const Plan& plan() const { return plan_; }
  const std::vector<uint32_t>& PlacesOf(PlanSide side, uint32_t super) const {
    return places_[static_cast<size_t>(side)][super];
  }

  // A template as a whole; ids also depend on how templates and params are cut.
  ContentIds::Id PlacingOfTemplate(PlanSide side, uint32_t super);
  ContentIds::Id RoutesOfTemplate(uint32_t super) const { return template_routes_[super]; }
  // "4-way on dim 0, 2 copies, 8 ranks", "33.3 % of the elements, 2 copies, 8 ranks" or "nowhere".
  std::string ShardingText(PlanSide side, uint32_t super);
  // All places of a template on one side, with the loops as first axes.
  std::vector<CoveredBox> BoxesOf(PlanSide side, uint32_t super) const;

  // Tensor by tensor. What these cost grows with the parts.
  int64_t PlacedParts(PlanSide side, uint32_t super) const;
  int64_t RoutedParts(uint32_t super) const;
  std::vector<TensorHolding> Holdings(PlanSide side, uint32_t super);
  std::vector<ContentIds::Id> Routes(uint32_t super);
  // As ShardingText, of some tensors: `chosen[i]` tells whether tensor i is one of them.
  std::string ShardingText(PlanSide side, uint32_t super, const std::vector<bool>& chosen);
  // "w13_weight at 3,584 on 16,24": where the parts of one tensor lie.
  std::set<std::string> Locations(PlanSide side, uint32_t super, int64_t tensor);
  // "from 0,1 to 2 > 5 > 6": the sources and landing ranks of the trees over which one tensor, or
  // all of a template, travel; "inside rank 3".
  std::set<std::string> RouteTexts(uint32_t super, std::optional<int64_t> tensor);

 private:
  struct HeldBox {
    ContentIds::Id box = 0;
    uint32_t rank_set = 0;
    double elements = 0;  // of one rank; only for the number of copies in a text
  };
  std::string Describe(const PlanSuper& super, std::vector<HeldBox> held, int64_t tensors,
                       std::optional<ElementCount> covered);
  void AddRoutes();
  std::string TreeText(uint32_t tree) const;

  const Plan& plan_;
  ContentIds* ids_;
  std::array<std::vector<std::vector<uint32_t>>, 2> places_;  // by side and super-tensor
  std::vector<ContentIds::Id> rank_sets_;                     // by index
  std::vector<std::vector<uint32_t>> cells_;                  // by super-tensor
  std::vector<ContentIds::Id> cell_routes_;                   // by cell: how its class travels
  std::vector<uint32_t> cell_classes_;                        // by cell
  std::vector<RankList> tree_sources_;                        // by tree
  std::vector<ContentIds::Id> template_routes_;               // by super-tensor
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_TENSOR_FACTS_H_
