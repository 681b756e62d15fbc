// Meshes and DTensor placements, for the naive interpreter (naive_layout.h).
#ifndef RESHARD_COMPILER_PLAN_TOOLS_NAIVE_PLACEMENT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_NAIVE_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/plan_tools/naive_view.h"

namespace reshard {

struct NaiveMesh {
  std::vector<std::string> axes;
  std::vector<int64_t> shape;
  std::vector<uint32_t> ranks;  // row-major
  std::unordered_map<uint32_t, size_t> position;
  std::vector<bool> used;  // per axis: some param depends on its coordinate

  // nullopt for a rank that is not on the mesh.
  std::optional<std::vector<int64_t>> Coordinates(uint32_t rank) const;
};

// Cuts `view` to what the rank at `coords` keeps under the placements of `spec`.
bool ApplyPlacements(const ParamSpec& spec, const NaiveMesh& mesh,
                     const std::vector<int64_t>& coords, NaiveOps* ops, NaiveView* view);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_NAIVE_PLACEMENT_H_
