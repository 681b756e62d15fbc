// HeldParts: whether ranks hold the same of a tensor in two plans, however it is cut.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_HELD_PARTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_HELD_PARTS_H_

#include <map>
#include <utility>

#include "compiler/plan_tools/content_ids.h"
#include "compiler/plan_tools/tensor_facts.h"
#include "compiler/plan_tools/uncut_parts.h"

namespace reshard {

class HeldParts {
 public:
  // `ids` are those of the holdings and outlive this.
  explicit HeldParts(ContentIds* ids) : ids_(ids), uncut_(ids) {}

  // The same elements on as many ranks.
  bool SameParts(const TensorHolding& a, const TensorHolding& b);
  // The same elements on the same ranks, at the same bytes of the same params.
  bool SamePlacing(const TensorHolding& a, const TensorHolding& b);

 private:
  using Id = ContentIds::Id;
  struct Elements {
    Id of_ranks = 0;  // which ranks hold what
    Id counts = 0;    // how many ranks hold what
  };
  const Elements& ElementsOf(Id of_ranks);
  Id PlacingOf(Id placing);

  ContentIds* ids_;
  UncutParts uncut_;
  std::map<Id, Elements> elements_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_HELD_PARTS_H_
