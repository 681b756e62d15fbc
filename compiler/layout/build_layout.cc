#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/layout/duplicates.h"
#include "compiler/layout/explicit_params.h"
#include "compiler/layout/families.h"
#include "compiler/layout/instances.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/mesh.h"
#include "compiler/layout/placements.h"
#include "compiler/layout/sort_families.h"
#include "compiler/layout/template_runs.h"
#include "compiler/layout/value_tree.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// One entry of params[]: finds its instances and adds a family for each set of equal ones.
class ParamTemplate {
 public:
  ParamTemplate(const ParamSpec& spec, uint32_t index, const LogicalTable& table,
                const SpecScope& globals, MeshRanks* mesh_ranks, FamilyBuilder* families,
                PieceBudget* budget, Diagnostics* diags)
      : spec_(spec),
        index_(index),
        table_(table),
        mesh_(mesh_ranks->mesh()),
        mesh_ranks_(*mesh_ranks),
        families_(*families),
        budget_(*budget),
        diags_(*diags),
        scope_(globals) {}

  bool Build(const RankSetTable& rank_sets) {
    if (!Prepare() || !instances_.Build(query_, &scope_, &budget_, &diags_)) return false;
    if (instances_.empty()) {
      diags_.Error(
          DiagnosticCode::kTemplateEmpty, spec_.span,
          "'" + spec_.name.source + "' has no instance on any rank of mesh '" + mesh_.name + "'");
      return false;
    }
    rank_sets_ = &rank_sets;
    fixed_axes_ = instances_.fixed() & ((VarMask{1} << mesh_.axes.size()) - 1);
    remember_values_ = (instances_.fixed() & ~value_mask_) != 0;
    InitContext();
    const bool good =
        instances_.ForEach(&scope_, [&](const InstanceBox& box) { return AddBox(box); });
    families_.EndTemplate();
    return good;
  }

 private:
  bool Prepare() {
    if (!CheckPlacements(spec_, mesh_, &diags_)) return false;
    if (mesh_.axes.size() + spec_.loops.size() > kMaxVariables) {
      diags_.Error(DiagnosticCode::kTooLarge, spec_.span,
                   "a template has more than " + std::to_string(kMaxVariables) + " variables");
      return false;
    }
    for (const std::string& axis : mesh_.axes) scope_.Add(axis);
    for (const LoopSpec& loop : spec_.loops) scope_.Add(loop.name);
    if (spec_.value && !value_.AddVariables(*spec_.value, mesh_, &scope_, &diags_)) return false;
    if (!scope_.AddLets(spec_.lets, &diags_)) return false;
    query_.axis_extents = mesh_.shape;
    query_.loops = &spec_.loops;
    query_.where = &spec_.where;
    names_.emplace_back(spec_.name, scope_);
    for (const NameExpr& share : spec_.shares) names_.emplace_back(share, scope_);
    VarMask name_mask = 0;
    for (const TemplateName& name : names_) name_mask |= name.mask;
    if (spec_.value) {
      value_.Prepare(scope_);
      const VarMask cuts = spec_.has_placements ? PlacementMask(spec_, mesh_) : 0;
      value_mask_ = value_.value_mask() | cuts;
      query_.fixed = value_.structure_mask() | cuts;
    } else if (spec_.external) {
      for (const Expr& expr : spec_.external->shape) {
        query_.fixed |= scope_.DependenciesOf(expr);
      }
      value_mask_ = query_.fixed;
    }
    const VarMask axes = (VarMask{1} << mesh_.axes.size()) - 1;
    query_.fixed |= (name_mask | value_mask_) & axes;
    return true;
  }

  void InitContext() {
    context_.scope = &scope_;
    context_.runs.assign(scope_.count(), Run{});
    context_.budget = &budget_;
    context_.diags = &diags_;
    context_.where = [this] { return Where(); };
  }

  // " (rank 5, l=3)": the first rank and the loop values of the point at hand.
  std::string Where() const {
    std::string text = " (rank " + std::to_string((*rank_sets_)[ranks_].front());
    for (size_t i = 0; i < spec_.loops.size(); ++i) {
      const size_t v = mesh_.axes.size() + i;
      text += ", " + spec_.loops[i].name + "=" + std::to_string(scope_.value(v));
    }
    return text + ")";
  }

  // Adds the instances of a box, split where one affine family cannot say them all.
  bool AddBox(const InstanceBox& box) {
    if (!budget_.Charge()) return TooManyPieces() == Outcome::kDone;
    coords_.resize(mesh_.axes.size());
    for (size_t axis = 0; axis < coords_.size(); ++axis) coords_[axis] = box[axis].begin;
    ranks_ = mesh_ranks_.With(fixed_axes_, coords_);
    return ForEachPart(box, &context_, [&] { return AddFamily(); });
  }

  Outcome AddFamily() {
    FamilyDraft draft;
    draft.template_index = index_;
    draft.span = spec_.span;
    for (size_t i = 0; i < spec_.loops.size(); ++i) {
      const size_t v = mesh_.axes.size() + i;
      if (context_.runs[v].count == 1) continue;
      draft.loop_variables.push_back(v);
      draft.loop_runs.push_back(context_.runs[v]);
    }
    if (const Outcome o = MakeNames(names_, &context_, &draft); o != Outcome::kDone) return o;
    if (spec_.external) return AddExternal(&draft);
    const View* view = nullptr;
    if (const Outcome o = FindView(&view); o != Outcome::kDone) return o;
    draft.shape = view->shape;
    draft.dtype = view->dtype;
    return Finish(std::move(draft), view);
  }

  Outcome AddExternal(FamilyDraft* draft) {
    draft->external = true;
    draft->dtype = spec_.external->dtype;
    std::optional<int64_t> bytes = DTypeBytes(draft->dtype);
    for (const Expr& expr : spec_.external->shape) {
      int64_t extent = 0;
      if (const Outcome o = context_.Eval(expr, &extent); o != Outcome::kDone) return o;
      if (extent < 0) {
        return context_.Fail(DiagnosticCode::kBadValue, expr.span,
                             "extent " + std::to_string(extent) + ", expected at least 0");
      }
      bytes = bytes ? CheckedMul(*bytes, std::max<int64_t>(extent, 1)) : bytes;
      draft->shape.push_back(extent);
    }
    if (!bytes || *bytes > kMaxTensorBytes || draft->shape.size() > kMaxDims) {
      return context_.Fail(DiagnosticCode::kTooLarge, spec_.span,
                           "the shape of '" + spec_.name.source + "' is too large");
    }
    return Finish(std::move(*draft), nullptr);
  }

  Outcome Finish(FamilyDraft draft, const View* view) {
    std::optional<int64_t> bytes = DTypeBytes(draft.dtype);
    for (const int64_t extent : draft.shape)
      bytes = CheckedMul(*bytes, std::max<int64_t>(extent, 1));
    for (const Run& run : draft.loop_runs) bytes = bytes ? CheckedMul(*bytes, run.count) : bytes;
    if (!bytes || *bytes > kMaxTensorBytes) {
      return context_.Fail(DiagnosticCode::kTooLarge, spec_.span,
                           "the instances of '" + spec_.name.source + "' are too large together");
    }
    if (families_.Add(std::move(draft), view, ranks_)) return Outcome::kDone;
    return TooManyPieces();
  }

  Outcome TooManyPieces() {
    diags_.Error(DiagnosticCode::kTooManyPieces, spec_.span,
                 "the layout has too many pieces up to '" + spec_.name.source + "'");
    return Outcome::kFailed;
  }

  // The value at the point at hand. It is evaluated once for all points that differ only in what it
  // does not depend on.
  Outcome FindView(const View** out) {
    std::string key;
    if (remember_values_) {
      for (size_t v = 0; v < context_.runs.size(); ++v) {
        if ((value_mask_ >> v & 1) == 0) continue;
        const Run& run = context_.runs[v];
        for (const int64_t number : {run.begin, run.step, run.count}) {
          key.append(reinterpret_cast<const char*>(&number), sizeof(number));
        }
      }
      if (const auto it = views_.find(key); it != views_.end()) {
        *out = &it->second;
        return Outcome::kDone;
      }
    }
    View view;
    Outcome outcome = value_.Eval(table_, &context_, &view);
    if (outcome == Outcome::kDone) outcome = ApplyPlacements(spec_, mesh_, &context_, &view);
    if (outcome != Outcome::kDone) return outcome;
    if (budget_.exhausted()) return TooManyPieces();
    MergePieces(&view);
    View& kept = views_[key];
    kept = std::move(view);
    *out = &kept;
    return Outcome::kDone;
  }

  const ParamSpec& spec_;
  const uint32_t index_;
  const LogicalTable& table_;
  const Mesh& mesh_;
  MeshRanks& mesh_ranks_;
  FamilyBuilder& families_;
  PieceBudget& budget_;
  Diagnostics& diags_;
  VarScope scope_;
  ValueTree value_;
  std::vector<TemplateName> names_;  // the name, then `shares`
  InstanceQuery query_;
  Instances instances_;
  VarMask value_mask_ = 0;
  VarMask fixed_axes_ = 0;
  bool remember_values_ = false;
  EvalContext context_;
  const RankSetTable* rank_sets_ = nullptr;
  RankSetId ranks_ = 0;  // of the point at hand
  std::vector<int64_t> coords_;
  std::unordered_map<std::string, View> views_;
};

// Every rank that a mesh or an explicit param names, rising.
RankList AllRanks(const Layout& layout) {
  RankList ranks;
  for (const Mesh& mesh : layout.meshes) {
    ranks.insert(ranks.end(), mesh.ranks.begin(), mesh.ranks.end());
  }
  std::vector<bool> seen(layout.rank_sets.count(), false);
  for (const ParamFamily& family : layout.families) {
    if (seen[family.ranks]) continue;
    seen[family.ranks] = true;
    const RankList& set = layout.rank_sets[family.ranks];
    ranks.insert(ranks.end(), set.begin(), set.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

bool BuildLayout(const LayoutSpec& spec, const LogicalTable& table, Diagnostics* diags, Layout* out,
                 int64_t max_pieces) {
  out->side = spec.side;
  out->file = spec.file;
  out->colocated = spec.colocated;
  out->unused = spec.unused;
  SpecScope globals;
  if (!globals.Build(spec, diags) || !globals.BuildPipeline(diags)) return false;
  if (!BuildMeshes(spec, globals, diags, &out->meshes)) return false;
  PieceBudget budget{max_pieces};
  FamilyBuilder families(out, &budget);
  std::map<std::string, std::unique_ptr<MeshRanks>> mesh_ranks;
  for (const Mesh& mesh : out->meshes) {
    mesh_ranks[mesh.name] = std::make_unique<MeshRanks>(mesh, &out->rank_sets);
  }
  bool good = true;
  for (size_t i = 0; i < spec.params.size(); ++i) {
    const ParamSpec& param = spec.params[i];
    const auto mesh = mesh_ranks.find(param.mesh);
    if (mesh == mesh_ranks.end()) {
      diags->Error(DiagnosticCode::kUnknownMesh, param.mesh_span,
                   "no mesh is called '" + param.mesh + "'");
      good = false;
      continue;
    }
    ParamTemplate builder(param, static_cast<uint32_t>(i), table, globals, mesh->second.get(),
                          &families, &budget, diags);
    good &= builder.Build(out->rank_sets);
    if (budget.exhausted()) return false;
  }
  good &= BuildExplicitParams(spec, table, globals, &families, &budget, diags, out);
  if (budget.exhausted()) return false;
  out->ranks = AllRanks(*out);
  if (!good || !CheckParamNames(*out, diags)) return false;
  SortFamilies(out);
  return true;
}

}  // namespace reshard
