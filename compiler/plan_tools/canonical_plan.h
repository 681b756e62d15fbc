// CanonicalPlan: everything that a plan says, as text that does not depend on how its tables are
// numbered.
//
// Rows name each other by content: tensors and params by name, classes, streams and trees by a hash
// of what they are. Two plans with equal text mean the same, and one changed row changes few lines
// of the text, which makes it fit for `git diff`. What only locates rows in the file (indices,
// first rows, counts) is left out. Numbers of streams and trees are left out too, though something
// follows from them: where in its staging memory a rank keeps the slices of a tree, and in which
// order it lists the operations of a round (any order is right). The printer takes every struct
// of plan.h apart field by field, so that a new field does not compile until it is printed.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_CANONICAL_PLAN_H_
#define RESHARD_COMPILER_PLAN_TOOLS_CANONICAL_PLAN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// Rows of one kind. An item is a line and, indented under it, its parts; without the last newline.
struct CanonicalSection {
  std::string_view name;
  std::vector<std::string> items;
};

struct CanonicalPlan {
  std::vector<CanonicalSection> sections;  // the same ones for every plan
};

CanonicalPlan Canonicalize(const Plan& plan);
// Only the sections that do not tell of tensors and what moves: header, topology, sites, cuts,
// ranks.
CanonicalPlan CanonicalizeWorld(const Plan& plan);

// A heading and the items of each section. Control characters of names are escaped already.
void PrintCanonical(const CanonicalPlan& canonical, std::ostream& out);

// Names of plan.supers for people, "layers.{0..60}.w"; where two are equal, the later ones get
// " (2)" and so on.
std::vector<std::string> SuperNames(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_CANONICAL_PLAN_H_
