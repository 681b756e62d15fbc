// Skeletons: names with their numbers taken out, so that families of names are looked up at once.
//
// Each maximal run of digits (without a leading zero) is a slot: "model.layers.3.w13" has the
// skeleton "model.layers.#.w#" and the slots (3, 13).
#ifndef RESHARD_COMPILER_LAYOUT_NAME_SKELETON_H_
#define RESHARD_COMPILER_LAYOUT_NAME_SKELETON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontend/expr.h"

namespace reshard {

struct NameSkeleton {
  std::string text;
  std::vector<int64_t> slots;
};
NameSkeleton SkeletonOf(std::string_view name);

// A name with holes, matched against skeletons: slot i is a constant, or hole `hole`.
struct NamePlan {
  struct Slot {
    int hole = -1;
    int64_t constant = 0;
  };
  std::string skeleton;
  std::vector<Slot> slots;
  // A hole touches a digit, a sign or another hole ("w1{e}"): the skeleton says nothing, only whole
  // names can be looked up.
  bool glued = false;
};
NamePlan PlanName(const NameExpr& name);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_NAME_SKELETON_H_
