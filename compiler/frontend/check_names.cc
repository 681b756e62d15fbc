#include "compiler/frontend/check_names.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/definition_order.h"
#include "compiler/frontend/name_scope.h"

namespace reshard {
namespace {

constexpr size_t kMaxSuggestedMeshes = 100;
constexpr PipelineUse kNotHere = PipelineUse::kNotHere;

std::set<std::string> NamesInRange(const RangeExpr& range) {
  std::set<std::string> names;
  for (const RangeExpr::Part& part : range.parts) {
    for (const Expr* expr : {&part.begin, &part.end, &part.step}) names.merge(NamesIn(*expr));
  }
  return names;
}

template <typename Item>
void Reorder(const std::vector<size_t>& order, std::vector<Item>* items) {
  std::vector<Item> sorted;
  sorted.reserve(items->size());
  for (const size_t index : order) sorted.push_back(std::move((*items)[index]));
  *items = std::move(sorted);
}

class Checker {
 public:
  Checker(LayoutSpec* spec, Diagnostics* diags)
      : spec_(*spec),
        diags_(diags),
        file_(nullptr),
        in_params_(spec->pipeline ? PipelineUse::kAllowed : PipelineUse::kNoPipeline) {}

  void Run() {
    CheckFile();
    for (LogicalSpec& logical : spec_.logical) CheckLogical(&logical);
    for (ParamSpec& param : spec_.params) CheckParam(&param);
    for (ExplicitSpec& param : spec_.explicit_params) CheckExplicit(&param);
    for (AliasSpec& alias : spec_.aliases) {
      NameScope scope(&file_);
      CheckLoops(&alias.loops, {}, &scope);
      scope.Check(alias.name, kNotHere, diags_);
      scope.Check(alias.of, kNotHere, diags_);
    }
    for (const ExpectSpec& expect : spec_.expect) CheckExpect(expect);
  }

 private:
  void CheckFile() {
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(spec_.tables.begin(), spec_.tables.end(), by_name);
    std::sort(spec_.meshes.begin(), spec_.meshes.end(), by_name);
    std::vector<Definition> symbols;
    for (const SymbolSpec& symbol : spec_.symbols) {
      symbols.push_back({symbol.name, symbol.span, NamesIn(symbol.value)});
      file_.Declare(symbol.name, NameKind::kSymbol, symbol.span, diags_);
    }
    for (const TableSpec& table : spec_.tables) {
      file_.Declare(table.name, NameKind::kTable, table.span, diags_);
    }
    for (const SymbolSpec& symbol : spec_.symbols) file_.Check(symbol.value, kNotHere, diags_);
    Reorder(OrderDefinitions(symbols, "symbol", diags_), &spec_.symbols);
    if (spec_.rank_base) file_.Check(*spec_.rank_base, kNotHere, diags_);
    if (spec_.world) file_.Check(*spec_.world, kNotHere, diags_);
    for (const MeshSpec& mesh : spec_.meshes) {
      file_.Check(mesh.shape, kNotHere, diags_);
      NameScope axes(&file_);
      DeclareAxes(mesh, &axes, diags_);
    }
    if (!spec_.pipeline) return;
    for (const std::vector<PipelineSpec::LayerRange>& stage : spec_.pipeline->stages) {
      for (const PipelineSpec::LayerRange& range : stage) {
        file_.Check(range.begin, kNotHere, diags_);
        file_.Check(range.end, kNotHere, diags_);
      }
    }
  }

  static void DeclareAxes(const MeshSpec& mesh, NameScope* scope, Diagnostics* diags) {
    for (size_t i = 0; i < mesh.axes.size(); ++i) {
      scope->Declare(mesh.axes[i], NameKind::kAxis, mesh.axis_spans[i], diags);
    }
  }

  // Variables that a name mentions come in the order in which it mentions them.
  void CheckLoops(std::vector<LoopSpec>* loops, const NameExpr& name, NameScope* scope) {
    NameScope bounds(&file_);  // ranges see the variables, but not the axes
    std::vector<Definition> definitions;
    for (const LoopSpec& loop : *loops) {
      size_t mention = 0;
      while (mention < name.holes.size() && !NamesIn(name.holes[mention]).contains(loop.name)) {
        ++mention;
      }
      definitions.push_back({loop.name, loop.name_span, NamesInRange(loop.range), mention});
      scope->Declare(loop.name, NameKind::kVariable, loop.name_span, diags_);
    }
    Diagnostics silent;  // collisions are reported above
    for (const LoopSpec& loop : *loops) {
      bounds.Declare(loop.name, NameKind::kVariable, loop.name_span, &silent);
    }
    for (const LoopSpec& loop : *loops) bounds.Check(loop.range, kNotHere, diags_);
    Reorder(OrderDefinitions(definitions, "variable", diags_), loops);
  }

  void CheckLogical(LogicalSpec* logical) {
    NameScope scope(&file_);
    CheckLoops(&logical->loops, logical->name, &scope);
    scope.Check(logical->name, kNotHere, diags_);
    scope.Check(logical->shape, kNotHere, diags_);
    if (!logical->scale_of) return;
    scope.Check(logical->scale_of->tensor, kNotHere, diags_);
    scope.Check(logical->scale_of->block, kNotHere, diags_);
  }

  const MeshSpec* FindMesh(const std::string& name, Span span) {
    const auto it = std::lower_bound(
        spec_.meshes.begin(), spec_.meshes.end(), name,
        [](const MeshSpec& mesh, const std::string& wanted) { return mesh.name < wanted; });
    if (it != spec_.meshes.end() && it->name == name) return &*it;
    if (name.empty()) return nullptr;  // reported when it was read
    std::vector<std::string> known;
    for (const MeshSpec& mesh : spec_.meshes) {
      if (known.size() < kMaxSuggestedMeshes) known.push_back(mesh.name);
    }
    diags_->Error(DiagnosticCode::kUnknownMesh, span,
                  "no mesh is called '" + name + "'" + DidYouMean(name, known));
    return nullptr;
  }

  void CheckParam(ParamSpec* param) {
    const MeshSpec* const mesh = FindMesh(param->mesh, param->mesh_span);
    if (mesh == nullptr) return;  // which coordinates there are is not known
    NameScope scope(&file_);
    Diagnostics silent;  // collisions of axes are reported with the mesh
    DeclareAxes(*mesh, &scope, &silent);
    CheckLoops(&param->loops, param->name, &scope);
    scope.Check(param->where, in_params_, diags_);
    NameScope inner(&scope);
    CheckLets(&param->lets, &inner);
    inner.Check(param->name, in_params_, diags_);
    for (const NameExpr& name : param->shares) inner.Check(name, in_params_, diags_);
    if (param->external) inner.Check(param->external->shape, in_params_, diags_);
    if (param->value) CheckValue(*param->value, *mesh, inner);
  }

  void CheckLets(std::vector<LetSpec>* lets, NameScope* scope) {
    std::vector<Definition> definitions;
    for (const LetSpec& let : *lets) {
      definitions.push_back({let.name, let.name_span, NamesIn(let.value)});
      scope->Declare(let.name, NameKind::kLet, let.name_span, diags_);
    }
    for (const LetSpec& let : *lets) scope->Check(let.value, in_params_, diags_);
    Reorder(OrderDefinitions(definitions, "'let' name", diags_), lets);
  }

  void CheckValue(const ValueSpec& value, const MeshSpec& mesh, const NameScope& scope) {
    scope.Check(value.tensor, in_params_, diags_);
    for (const std::optional<Expr>* expr :
         {&value.dim, &value.groups, &value.unit, &value.multiple, &value.to, &value.start,
          &value.stop, &value.step, &value.at}) {
      if (*expr) scope.Check(**expr, in_params_, diags_);
    }
    scope.Check(value.dims, in_params_, diags_);
    scope.Check(value.shape, in_params_, diags_);
    CheckShardAxes(value, mesh);
    NameScope inner(&scope);
    if (value.over) {
      scope.Check(value.over->range, in_params_, diags_);
      inner.Declare(value.over->name, NameKind::kVariable, value.over->name_span, diags_);
    }
    for (const ValueSpec& input : value.inputs) {
      CheckValue(input, mesh, value.over ? inner : scope);
    }
  }

  void CheckShardAxes(const ValueSpec& value, const MeshSpec& mesh) {
    for (size_t i = 0; i < value.axes.size(); ++i) {
      const std::string& axis = value.axes[i];
      const auto begin = value.axes.begin();
      if (axis.empty()) continue;  // reported when it was read
      if (std::find(mesh.axes.begin(), mesh.axes.end(), axis) == mesh.axes.end()) {
        diags_->Error(
            DiagnosticCode::kUnknownAxis, value.axis_spans[i],
            "mesh '" + mesh.name + "' has no axis '" + axis + "'" + DidYouMean(axis, mesh.axes));
      } else if (std::find(begin, begin + static_cast<std::ptrdiff_t>(i), axis) !=
                 begin + static_cast<std::ptrdiff_t>(i)) {
        diags_->Error(DiagnosticCode::kBadValue, value.axis_spans[i],
                      "axis '" + axis + "' is listed twice: one coordinate cuts once");
      }
    }
  }

  void CheckExplicit(ExplicitSpec* param) {
    NameScope scope(&file_);
    CheckLoops(&param->loops, param->param, &scope);
    scope.Check(param->ranks, kNotHere, diags_);
    scope.Check(param->param, kNotHere, diags_);
    scope.Check(param->shape, kNotHere, diags_);
    for (const ExplicitSpec::Piece& piece : param->pieces) {
      scope.Check(piece.tensor, kNotHere, diags_);
      for (const std::vector<ExplicitSpec::Run>* runs : {&piece.src, &piece.dst}) {
        for (const ExplicitSpec::Run& run : *runs) {
          scope.Check(run.start, kNotHere, diags_);
          scope.Check(run.extent, kNotHere, diags_);
          scope.Check(run.step, kNotHere, diags_);
        }
      }
      if (!piece.dims) continue;
      for (const std::optional<Expr>& dim : *piece.dims) {
        if (dim) scope.Check(*dim, kNotHere, diags_);
      }
    }
  }

  void CheckExpect(const ExpectSpec& expect) {
    if (expect.mesh) FindMesh(*expect.mesh, expect.mesh_span);
    file_.Check(expect.rank, kNotHere, diags_);
    file_.Check(expect.coords, kNotHere, diags_);
    if (expect.shape) file_.Check(*expect.shape, kNotHere, diags_);
    for (const ExpectSpec::Point& point : expect.points) {
      file_.Check(point.at, kNotHere, diags_);
      file_.Check(point.index, kNotHere, diags_);
    }
  }

  LayoutSpec& spec_;
  Diagnostics* diags_;
  NameScope file_;
  PipelineUse in_params_;
};

}  // namespace

void CheckNames(LayoutSpec* spec, Diagnostics* diags) { Checker(spec, diags).Run(); }

}  // namespace reshard
