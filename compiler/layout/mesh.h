// Meshes of a layout file, and which ranks have given coordinates.
#ifndef RESHARD_COMPILER_LAYOUT_MESH_H_
#define RESHARD_COMPILER_LAYOUT_MESH_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/scope.h"

namespace reshard {

// Resolves all meshes of `spec` and checks them against `world` and the pipeline.
// Returns false after at least one error was reported.
[[nodiscard]] bool BuildMeshes(const LayoutSpec& spec, const SpecScope& globals, Diagnostics* diags,
                               std::vector<Mesh>* out);

// The ranks of one mesh by the values of some of its axes. Answers are interned in the layout's
// table once per set of axes.
class MeshRanks {
 public:
  MeshRanks(const Mesh& mesh, RankSetTable* table) : mesh_(mesh), table_(*table) {}

  // Ranks whose coordinates agree with `coords` on the axes in `fixed_axes` (bits, outermost 0).
  RankSetId With(uint64_t fixed_axes, const std::vector<int64_t>& coords);
  const Mesh& mesh() const { return mesh_; }

 private:
  const Mesh& mesh_;
  RankSetTable& table_;
  std::map<uint64_t, std::vector<RankSetId>> by_axes_;  // row-major over the fixed axes
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_MESH_H_
