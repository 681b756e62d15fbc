#include "compiler/layout/mesh.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_set>

#include "compiler/layout/limits.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

class MeshBuilder {
 public:
  MeshBuilder(const LayoutSpec& spec, const SpecScope& globals, Diagnostics* diags)
      : spec_(spec), globals_(globals), diags_(*diags) {}

  bool Build(std::vector<Mesh>* out) {
    int64_t base = 0;
    if (spec_.rank_base && !EvalAtLeast(*spec_.rank_base, 0, "'rank_base'", &base)) return false;
    bool good = true;
    for (const MeshSpec& mesh_spec : spec_.meshes) {
      if (mesh_spec.axes.size() > kMaxAxes) {
        diags_.Error(DiagnosticCode::kTooLarge, mesh_spec.span,
                     "mesh '" + mesh_spec.name + "' has " + std::to_string(mesh_spec.axes.size()) +
                         " axes, at most " + std::to_string(kMaxAxes) + " work");
        return false;
      }
      Mesh mesh;
      mesh.name = mesh_spec.name;
      mesh.axes = mesh_spec.axes;
      mesh.span = mesh_spec.span;
      const bool made =
          mesh_spec.ranks ? FromRanks(mesh_spec, &mesh) : FromShape(mesh_spec, base, &mesh);
      good &= made;
      out->push_back(std::move(mesh));
    }
    return good && CheckWorld(*out) && CheckPipelineAxes(*out);
  }

 private:
  bool EvalAtLeast(const Expr& expr, int64_t least, const std::string& what, int64_t* value) {
    std::string error;
    Span where;
    const std::optional<int64_t> result = Eval(expr, globals_, &error, &where);
    if (!result) {
      diags_.Error(DiagnosticCode::kEvaluation, where, error);
      return false;
    }
    *value = *result;
    if (*value >= least) return true;
    diags_.Error(
        DiagnosticCode::kBadValue, expr.span,
        what + " is " + std::to_string(*value) + ", expected at least " + std::to_string(least));
    return false;
  }

  bool TooManyRanks(const MeshSpec& spec) {
    diags_.Error(
        DiagnosticCode::kTooLarge, spec.shape_span,
        "mesh '" + spec.name + "' has more than " + std::to_string(kMaxMeshRanks) + " ranks");
    return false;
  }

  bool FromShape(const MeshSpec& spec, int64_t base, Mesh* mesh) {
    if (spec.shape.size() != spec.axes.size()) return ShapeDiffers(spec, spec.shape.size());
    int64_t count = 1;
    for (size_t i = 0; i < spec.shape.size(); ++i) {
      int64_t extent = 0;
      if (!EvalAtLeast(spec.shape[i], 1, "axis '" + spec.axes[i] + "'", &extent)) return false;
      const std::optional<int64_t> product = CheckedMul(count, extent);
      if (!product || *product > kMaxMeshRanks) return TooManyRanks(spec);
      count = *product;
      mesh->shape.push_back(extent);
    }
    if (base > std::numeric_limits<int32_t>::max() - count) return TooManyRanks(spec);
    for (int64_t i = 0; i < count; ++i) mesh->ranks.push_back(static_cast<Rank>(base + i));
    return true;
  }

  bool ShapeDiffers(const MeshSpec& spec, size_t found) {
    diags_.Error(DiagnosticCode::kMeshShape, spec.shape_span,
                 "mesh '" + spec.name + "' has " + std::to_string(spec.axes.size()) +
                     " axes, but its " + (spec.ranks ? "ranks are" : "shape is") + " given with " +
                     std::to_string(found) + (found == 1 ? " dimension" : " dimensions"));
    return false;
  }

  bool FromRanks(const MeshSpec& spec, Mesh* mesh) {
    const JsonNode* node = &*spec.ranks;
    while (node->kind == JsonNode::Kind::kArray) {
      mesh->shape.push_back(static_cast<int64_t>(node->items.size()));
      if (node->items.empty()) break;
      node = &node->items[0];
    }
    if (mesh->shape.size() != spec.axes.size()) return ShapeDiffers(spec, mesh->shape.size());
    if (!Collect(spec, *spec.ranks, 0, mesh)) return false;
    std::unordered_set<Rank> seen;
    for (const Rank rank : mesh->ranks) {
      if (seen.insert(rank).second) continue;
      diags_.Error(DiagnosticCode::kDuplicateRank, SecondEntry(*spec.ranks, rank),
                   "rank " + std::to_string(rank) + " appears twice in mesh '" + spec.name + "'");
      return false;
    }
    if (!mesh->ranks.empty()) return true;
    diags_.Error(DiagnosticCode::kMeshShape, spec.ranks->span,
                 "mesh '" + spec.name + "' has no ranks");
    return false;
  }

  // The place of the last entry of `rank` in a nested array of ranks.
  static Span SecondEntry(const JsonNode& ranks, Rank rank) {
    std::vector<const JsonNode*> open = {&ranks};
    while (!open.empty()) {
      const JsonNode& node = *open.back();
      open.pop_back();
      if (node.kind == JsonNode::Kind::kNumber && node.text == std::to_string(rank)) {
        return node.span;
      }
      for (const JsonNode& item : node.items) open.push_back(&item);
    }
    return ranks.span;
  }

  bool Collect(const MeshSpec& spec, const JsonNode& node, size_t depth, Mesh* mesh) {
    if (depth == mesh->shape.size()) {
      uint32_t rank = 0;
      const char* end = node.text.data() + node.text.size();
      const bool number = node.kind == JsonNode::Kind::kNumber &&
                          std::from_chars(node.text.data(), end, rank) ==
                              std::from_chars_result{end, std::errc{}} &&
                          rank <= std::numeric_limits<int32_t>::max();
      if (!number) {
        diags_.Error(DiagnosticCode::kMeshShape, node.span,
                     "expected a rank (an integer from 0) in mesh '" + spec.name + "'");
        return false;
      }
      mesh->ranks.push_back(rank);
      if (static_cast<int64_t>(mesh->ranks.size()) > kMaxMeshRanks) return TooManyRanks(spec);
      return true;
    }
    const auto expected = static_cast<size_t>(mesh->shape[depth]);
    if (node.kind != JsonNode::Kind::kArray || node.items.size() != expected) {
      const std::string found = node.kind == JsonNode::Kind::kArray
                                    ? std::to_string(node.items.size()) + " entries"
                                    : std::string("a single value");
      diags_.Error(DiagnosticCode::kMeshShape, node.span,
                   "axis '" + spec.axes[depth] + "' of mesh '" + spec.name + "' has " + found +
                       " here, expected " + std::to_string(expected) + " as before");
      return false;
    }
    for (const JsonNode& item : node.items) {
      if (!Collect(spec, item, depth + 1, mesh)) return false;
    }
    return true;
  }

  bool CheckWorld(const std::vector<Mesh>& meshes) {
    if (!spec_.world) return true;
    int64_t world = 0;
    if (!EvalAtLeast(*spec_.world, 1, "'world'", &world)) return false;
    bool good = true;
    std::unordered_set<Rank> all;
    for (size_t i = 0; i < meshes.size(); ++i) {
      all.insert(meshes[i].ranks.begin(), meshes[i].ranks.end());
      if (spec_.meshes[i].ranks || static_cast<int64_t>(meshes[i].ranks.size()) == world) continue;
      std::string product;
      for (const int64_t extent : meshes[i].shape) {
        product += (product.empty() ? "" : " x ") + std::to_string(extent);
      }
      diags_
          .Error(DiagnosticCode::kWorldMismatch, spec_.meshes[i].shape_span,
                 "mesh '" + meshes[i].name + "' has " + product + " = " +
                     std::to_string(meshes[i].ranks.size()) + " ranks, expected " +
                     std::to_string(world))
          .notes.push_back({spec_.world->span, "'world' is given here"});
      good = false;
    }
    if (good && static_cast<int64_t>(all.size()) != world) {
      diags_.Error(DiagnosticCode::kWorldMismatch, spec_.world->span,
                   "all meshes together have " + std::to_string(all.size()) + " ranks, expected " +
                       std::to_string(world));
      good = false;
    }
    return good;
  }

  // The pipeline's axis needs one rank per stage in every mesh whose params use the pipeline.
  bool CheckPipelineAxes(const std::vector<Mesh>& meshes) {
    std::unordered_set<std::string> users;
    for (const ParamSpec& param : spec_.params) {
      if (UsesPipeline(param)) users.insert(param.mesh);
    }
    if (!spec_.pipeline) return true;
    bool good = true;
    for (size_t i = 0; i < meshes.size(); ++i) {
      if (!users.contains(meshes[i].name)) continue;
      const auto axis =
          std::find(meshes[i].axes.begin(), meshes[i].axes.end(), spec_.pipeline->axis);
      std::string found = "has no axis '" + spec_.pipeline->axis + "'";
      if (axis != meshes[i].axes.end()) {
        const int64_t extent = meshes[i].shape[static_cast<size_t>(axis - meshes[i].axes.begin())];
        if (extent == static_cast<int64_t>(globals_.stage_count())) continue;
        found = "has " + std::to_string(extent) + " ranks on axis '" + spec_.pipeline->axis + "'";
      }
      diags_
          .Error(DiagnosticCode::kPipelineAxis, spec_.pipeline->axis_span,
                 "mesh '" + meshes[i].name + "' " + found + ", but the pipeline has " +
                     std::to_string(globals_.stage_count()) + " stages")
          .notes.push_back({spec_.meshes[i].span, "the mesh is given here"});
      good = false;
    }
    return good;
  }

  static bool Calls(const Expr& expr) {
    const std::set<std::string> functions = FunctionsIn(expr);
    return functions.contains("stage") || functions.contains("chunk") ||
           functions.contains("layer_start") || functions.contains("stage_start");
  }
  static bool UsesPipeline(const ParamSpec& param) {
    const auto calls = [](const Expr& expr) { return Calls(expr); };
    return std::any_of(param.where.begin(), param.where.end(), calls) ||
           std::any_of(param.lets.begin(), param.lets.end(),
                       [](const LetSpec& let) { return Calls(let.value); }) ||
           std::any_of(param.name.holes.begin(), param.name.holes.end(), calls);
  }

  const LayoutSpec& spec_;
  const SpecScope& globals_;
  Diagnostics& diags_;
};

}  // namespace

bool BuildMeshes(const LayoutSpec& spec, const SpecScope& globals, Diagnostics* diags,
                 std::vector<Mesh>* out) {
  return MeshBuilder(spec, globals, diags).Build(out);
}

RankSetId MeshRanks::With(uint64_t fixed_axes, const std::vector<int64_t>& coords) {
  const auto index_of = [&](const std::vector<int64_t>& point) {
    int64_t index = 0;
    for (size_t a = 0; a < mesh_.shape.size(); ++a) {
      if ((fixed_axes >> a & 1) != 0) index = index * mesh_.shape[a] + point[a];
    }
    return static_cast<size_t>(index);
  };
  std::vector<RankSetId>& sets = by_axes_[fixed_axes];
  if (sets.empty()) {
    size_t count = 1;
    for (size_t a = 0; a < mesh_.shape.size(); ++a) {
      if ((fixed_axes >> a & 1) != 0) count *= static_cast<size_t>(mesh_.shape[a]);
    }
    std::vector<RankList> lists(count);
    std::vector<int64_t> point(mesh_.shape.size(), 0);
    for (const Rank rank : mesh_.ranks) {
      lists[index_of(point)].push_back(rank);
      for (size_t a = point.size(); a-- > 0;) {
        if (++point[a] < mesh_.shape[a]) break;
        point[a] = 0;
      }
    }
    for (RankList& list : lists) {
      std::sort(list.begin(), list.end());
      sets.push_back(table_.Intern(list));
    }
  }
  return sets[index_of(coords)];
}

}  // namespace reshard
