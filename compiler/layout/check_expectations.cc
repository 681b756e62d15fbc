#include <algorithm>
#include <optional>
#include <string>

#include "compiler/layout/layout.h"
#include "compiler/layout/rank_params.h"
#include "compiler/layout/scope.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

class ExpectationChecker {
 public:
  ExpectationChecker(const LogicalTable& table, const Layout& layout, const SpecScope& globals,
                     Diagnostics* diags)
      : table_(table), layout_(layout), globals_(globals), diags_(*diags) {}

  bool Check(const ExpectSpec& expect) {
    int64_t rank = 0;
    if (!Eval(expect.rank, &rank)) return false;
    const std::optional<Rank> known = CheckedCast<Rank>(rank);
    if (!known || !Contains(layout_.ranks, *known)) {
      return Fail(expect.rank.span, "the layout has no rank " + std::to_string(rank));
    }
    rank_ = *known;
    return expect.mesh ? CheckCoords(expect) : CheckParam(expect);
  }

 private:
  bool Fail(Span span, const std::string& text) {
    diags_.Error(DiagnosticCode::kExpectFailed, span, text);
    return false;
  }

  bool Eval(const Expr& expr, int64_t* value) {
    std::string error;
    Span where;
    const std::optional<int64_t> result = reshard::Eval(expr, globals_, &error, &where);
    if (result) *value = *result;
    if (!result) diags_.Error(DiagnosticCode::kEvaluation, where, error);
    return result.has_value();
  }
  bool EvalAll(const std::vector<Expr>& exprs, std::vector<int64_t>* values) {
    for (const Expr& expr : exprs) {
      values->push_back(0);
      if (!Eval(expr, &values->back())) return false;
    }
    return true;
  }

  bool CheckCoords(const ExpectSpec& expect) {
    const auto mesh = std::find_if(layout_.meshes.begin(), layout_.meshes.end(),
                                   [&](const Mesh& m) { return m.name == *expect.mesh; });
    if (mesh == layout_.meshes.end()) {
      return Fail(expect.mesh_span, "no mesh is called '" + *expect.mesh + "'");
    }
    std::vector<int64_t> expected;
    if (!EvalAll(expect.coords, &expected)) return false;
    const auto at = std::find(mesh->ranks.begin(), mesh->ranks.end(), rank_);
    if (at == mesh->ranks.end()) {
      return Fail(expect.span, "mesh '" + mesh->name + "' has no rank " + std::to_string(rank_));
    }
    std::vector<int64_t> found(mesh->shape.size());
    int64_t rest = at - mesh->ranks.begin();
    for (size_t axis = found.size(); axis-- > 0;) {
      found[axis] = rest % mesh->shape[axis];
      rest /= mesh->shape[axis];
    }
    if (found == expected) return true;
    return Fail(expect.span, "rank " + std::to_string(rank_) + " has coordinates " +
                                 ListText(found) + " on mesh '" + mesh->name + "', expected " +
                                 ListText(expected));
  }

  bool CheckParam(const ExpectSpec& expect) {
    const std::optional<ParamInstance> param = FindParam(layout_, rank_, *expect.param);
    if (!param) {
      return Fail(expect.param_span, "rank " + std::to_string(rank_) + " has no param '" +
                                         *expect.param + "'" +
                                         DidYouMean(*expect.param, SomeParamNames()));
    }
    const ParamFamily& family = layout_.families[param->family];
    if (expect.shape) {
      std::vector<int64_t> expected;
      if (!EvalAll(*expect.shape, &expected)) return false;
      if (family.shape != expected) {
        return Fail(expect.span, "'" + *expect.param + "' on rank " + std::to_string(rank_) +
                                     " has shape " + ListText(family.shape) + ", expected " +
                                     ListText(expected));
      }
    }
    bool good = true;
    for (const ExpectSpec::Point& point : expect.points) {
      good &= CheckPoint(*expect.param, *param, family, point);
    }
    return good;
  }

  bool CheckPoint(const std::string& name, const ParamInstance& param, const ParamFamily& family,
                  const ExpectSpec::Point& point) {
    std::vector<int64_t> at, index;
    if (!EvalAll(point.at, &at) || !EvalAll(point.index, &index)) return false;
    bool inside = at.size() == family.shape.size();
    int64_t element = 0;
    for (size_t d = 0; inside && d < at.size(); ++d) {
      inside = at[d] >= 0 && at[d] < family.shape[d];
      element = element * family.shape[d] + at[d];
    }
    if (!inside) {
      return Fail(point.span, "'" + name + "' of shape " + ListText(family.shape) +
                                  " has no element " + ListText(at));
    }
    const std::optional<LogicalRef> tensor = table_.Find(point.tensor);
    if (!tensor) {
      diags_.Error(DiagnosticCode::kUnknownTensor, point.span,
                   "no logical tensor is called '" + point.tensor + "'" +
                       DidYouMean(point.tensor, table_.SampleNames()));
      return false;
    }
    const std::optional<StoredElement> found =
        ElementAt(layout_, param, element * DTypeBytes(family.dtype));
    std::vector<int64_t> expected = tensor->loop_values;
    expected.insert(expected.end(), index.begin(), index.end());
    if (found && found->super == tensor->super && found->index == expected) return true;
    return Fail(point.span, "element " + ListText(at) + " of '" + name + "' on rank " +
                                std::to_string(rank_) + " is " + ElementText(found) +
                                ", expected '" + point.tensor + "' " + ListText(index));
  }

  std::string ElementText(const std::optional<StoredElement>& element) const {
    if (!element) return "no tensor's (padding or external)";
    const SuperTensor& super = table_.supers[element->super];
    const auto dims = element->index.begin() + static_cast<std::ptrdiff_t>(super.loop_count());
    return "'" + super.name.Instance({element->index.begin(), dims}) + "' " +
           ListText({dims, element->index.end()});
  }

  std::vector<std::string> SomeParamNames() const {
    constexpr size_t kMaxNames = 4000;
    std::vector<std::string> names;
    for (const ParamFamily& family : layout_.families) {
      if (names.size() == kMaxNames) break;
      if (Contains(layout_.rank_sets[family.ranks], rank_)) {
        names.push_back(family.name.Instance(family.loop_begin));
      }
    }
    return names;
  }

  const LogicalTable& table_;
  const Layout& layout_;
  const SpecScope& globals_;
  Diagnostics& diags_;
  Rank rank_ = 0;
};

}  // namespace

bool CheckExpectations(const LayoutSpec& spec, const LogicalTable& table, const Layout& layout,
                       Diagnostics* diags) {
  if (spec.expect.empty()) return true;
  SpecScope globals;
  if (!globals.Build(spec, diags)) return false;
  ExpectationChecker checker(table, layout, globals, diags);
  bool good = true;
  for (const ExpectSpec& expect : spec.expect) good &= checker.Check(expect);
  return good;
}

}  // namespace reshard
