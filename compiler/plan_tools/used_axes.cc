#include "compiler/plan_tools/used_axes.h"

#include <set>
#include <string>

namespace reshard {
namespace {

class NameCollector {
 public:
  void Add(const Expr& expr) { names_.merge(NamesIn(expr)); }
  void Add(const std::optional<Expr>& expr) {
    if (expr) Add(*expr);
  }
  void Add(const std::vector<Expr>& exprs) {
    for (const Expr& expr : exprs) Add(expr);
  }
  void Add(const NameExpr& name) { Add(name.holes); }
  void Add(const RangeExpr& range) {
    for (const RangeExpr::Part& part : range.parts) {
      Add(part.begin);
      Add(part.end);
      Add(part.step);
    }
  }
  void Add(const ValueSpec& value) {
    Add(value.tensor);
    for (const std::optional<Expr>* expr :
         {&value.dim, &value.groups, &value.unit, &value.multiple, &value.to, &value.start,
          &value.stop, &value.step, &value.at}) {
      Add(*expr);
    }
    if (value.over) Add(value.over->range);
    names_.insert(value.axes.begin(), value.axes.end());
    Add(value.dims);
    Add(value.shape);
    for (const ValueSpec& input : value.inputs) Add(input);
  }
  void Add(const ParamSpec& param) {
    Add(param.where);
    for (const LetSpec& let : param.lets) Add(let.value);
    Add(param.name);
    for (const NameExpr& share : param.shares) Add(share);
    if (param.value) Add(*param.value);
    if (param.external) Add(param.external->shape);
  }

  bool Has(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
};

}  // namespace

std::vector<bool> UsedAxes(const MeshSpec& mesh, const std::vector<ParamSpec>& params) {
  std::vector<bool> used(mesh.axes.size(), false);
  for (const ParamSpec& param : params) {
    if (param.mesh != mesh.name) continue;
    NameCollector names;
    names.Add(param);
    for (size_t axis = 0; axis < used.size(); ++axis) {
      const bool cut = axis < param.placements.size() &&
                       param.placements[axis].kind != PlacementSpec::Kind::kReplicate;
      if (cut || names.Has(mesh.axes[axis])) used[axis] = true;
    }
  }
  return used;
}

}  // namespace reshard
