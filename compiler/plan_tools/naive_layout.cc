#include "compiler/plan_tools/naive_layout.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "compiler/plan_tools/naive_explicit.h"
#include "compiler/plan_tools/naive_placement.h"
#include "compiler/plan_tools/naive_scope.h"
#include "compiler/plan_tools/used_axes.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

constexpr size_t kMaxTensors = 10'000'000;
constexpr int64_t kMaxMeshRanks = int64_t{1} << 20;
constexpr size_t kMaxAliasChain = 1000;

bool Fail(std::string* error, std::string text) {
  *error = std::move(text);
  return false;
}

}  // namespace

bool NaiveTensors::AddSide(const LayoutSpec& spec, std::string* error) {
  NaiveFileScope file;
  if (!file.Make(spec, error)) return false;
  NaiveScope scope(&file);
  for (const LogicalSpec& logical : spec.logical) {
    const auto add = [&] {
      NaiveTensor tensor;
      std::optional<std::string> name = scope.Name(logical.name, error);
      if (!name || !scope.Values(logical.shape, error, &tensor.shape)) return false;
      tensor.name = *std::move(name);
      tensor.dtype = logical.dtype.value_or(DType::kBf16);
      const auto [it, is_new] =
          by_name_.try_emplace(tensor.name, static_cast<uint32_t>(tensors_.size()));
      if (is_new) {
        if (tensors_.size() == kMaxTensors) return Fail(error, "there are too many tensors");
        tensors_.push_back(std::move(tensor));
        return true;
      }
      const NaiveTensor& first = tensors_[it->second];
      if (first.shape == tensor.shape && first.dtype == tensor.dtype) return true;
      return Fail(error, "'" + tensor.name + "' is declared in two ways");
    };
    if (!scope.ForEach(logical.loops, error, add)) return false;
  }
  return true;
}

bool NaiveTensors::AddAliases(const LayoutSpec& spec, std::string* error) {
  NaiveFileScope file;
  if (!file.Make(spec, error)) return false;
  NaiveScope scope(&file);
  for (const AliasSpec& alias : spec.aliases) {
    const auto add = [&] {
      const std::optional<std::string> name = scope.Name(alias.name, error);
      std::optional<std::string> of = name ? scope.Name(alias.of, error) : std::nullopt;
      if (of) aliases_.emplace(*name, *std::move(of));
      return of.has_value();
    };
    if (!scope.ForEach(alias.loops, error, add)) return false;
  }
  return true;
}

bool NaiveTensors::Make(const LayoutSpec* source, const LayoutSpec* destination,
                        std::string* error) {
  for (const LayoutSpec* spec : {source, destination}) {
    if (spec != nullptr && !(AddSide(*spec, error) && AddAliases(*spec, error))) return false;
  }
  return true;
}

std::optional<uint32_t> NaiveTensors::Find(const std::string& name) const {
  const std::string* current = &name;
  for (size_t i = 0; i < kMaxAliasChain; ++i) {
    const auto tensor = by_name_.find(*current);
    if (tensor != by_name_.end()) return tensor->second;
    const auto alias = aliases_.find(*current);
    if (alias == aliases_.end()) return std::nullopt;
    current = &alias->second;
  }
  return std::nullopt;
}

class NaiveLayout::Impl {
 public:
  Impl(const LayoutSpec& spec, const NaiveTensors& tensors) : spec_(spec), tensors_(tensors) {}

  bool Make(std::string* error) {
    if (!file_.Make(spec_, error)) return false;
    for (const MeshSpec& mesh : spec_.meshes) {
      if (!AddMesh(mesh, error)) return false;
    }
    for (const ExplicitSpec& param : spec_.explicit_params) {
      NaiveScope scope(&file_);
      const auto add = [&] { return NaiveExplicitRanks(param, scope, error, &explicit_ranks_); };
      if (!scope.ForEach(param.loops, error, add)) return false;
    }
    std::sort(explicit_ranks_.begin(), explicit_ranks_.end());
    ranks_.insert(ranks_.end(), explicit_ranks_.begin(), explicit_ranks_.end());
    std::sort(ranks_.begin(), ranks_.end());
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    return true;
  }

  const std::vector<uint32_t>& ranks() const { return ranks_; }

  const NaiveMesh* FindMesh(std::string_view name) const {
    const auto it = meshes_.find(name);
    return it == meshes_.end() ? nullptr : &it->second;
  }

  std::vector<int64_t> Signature(uint32_t rank) const {
    std::vector<int64_t> signature;
    for (const auto& [name, mesh] : meshes_) {
      const std::optional<std::vector<int64_t>> coords = mesh.Coordinates(rank);
      signature.push_back(coords.has_value());
      if (!coords) continue;
      for (size_t axis = 0; axis < coords->size(); ++axis) {
        if (mesh.used[axis]) signature.push_back((*coords)[axis]);
      }
    }
    if (std::binary_search(explicit_ranks_.begin(), explicit_ranks_.end(), rank)) {
      signature.push_back(rank);
    }
    return signature;
  }

  bool Params(uint32_t rank, std::vector<NaiveParam>* out, std::string* error,
              int64_t max_steps) const {
    out->clear();
    NaiveOps ops(max_steps);
    int64_t steps = 0;
    const auto in_budget = [&] {
      return ++steps <= max_steps || Fail(error, "there are too many loop values to try each");
    };
    for (const ParamSpec& param : spec_.params) {
      const NaiveMesh* const mesh = FindMesh(param.mesh);
      if (mesh == nullptr) return Fail(error, "no mesh is called '" + param.mesh + "'");
      const std::optional<std::vector<int64_t>> coords = mesh->Coordinates(rank);
      if (!coords) continue;
      NaiveScope scope(&file_);
      for (size_t i = 0; i < coords->size(); ++i) scope.Push(mesh->axes[i], (*coords)[i]);
      Instance instance = {param, *mesh, *coords, scope, ops};
      const auto add = [&] { return in_budget() && AddInstance(&instance, out, error); };
      if (!scope.ForEach(param.loops, error, add)) return false;
    }
    for (const ExplicitSpec& param : spec_.explicit_params) {
      NaiveScope scope(&file_);
      const auto add = [&] {
        return in_budget() &&
               AddNaiveExplicit(param, rank, tensors_, scope, &ops, out, error);
      };
      if (!scope.ForEach(param.loops, error, add)) return false;
    }
    return true;
  }

 private:
  // A template at one rank; the scope holds the coordinates and the current loop values.
  struct Instance {
    const ParamSpec& param;
    const NaiveMesh& mesh;
    const std::vector<int64_t>& coords;
    NaiveScope& scope;
    NaiveOps& ops;
  };

  bool AddMesh(const MeshSpec& spec, std::string* error) {
    NaiveMesh mesh;
    mesh.axes = spec.axes;
    NaiveScope scope(&file_);
    if (spec.ranks) {
      const JsonNode* level = &*spec.ranks;
      while (level->kind == JsonNode::Kind::kArray) {
        mesh.shape.push_back(static_cast<int64_t>(level->items.size()));
        if (level->items.empty()) break;
        level = &level->items[0];
      }
      if (!Flatten(*spec.ranks, error, &mesh.ranks)) return false;
    } else {
      const std::optional<int64_t> base =
          spec_.rank_base ? scope.Value(*spec_.rank_base, error) : std::optional<int64_t>(0);
      if (!base || !scope.Values(spec.shape, error, &mesh.shape)) return false;
      const std::optional<int64_t> count = CheckedProduct(std::span<const int64_t>(mesh.shape));
      if (!count || *count < 0 || *count > kMaxMeshRanks || *base < 0 || *base > UINT32_MAX / 2) {
        return Fail(error, "mesh '" + spec.name + "' has too many ranks");
      }
      for (int64_t i = 0; i < *count; ++i) mesh.ranks.push_back(static_cast<uint32_t>(*base + i));
    }
    int64_t count = 1;
    for (const int64_t extent : mesh.shape) count *= extent;
    if (mesh.shape.size() != mesh.axes.size() || std::cmp_not_equal(count, mesh.ranks.size())) {
      return Fail(error, "the axes and the ranks of mesh '" + spec.name + "' do not fit");
    }
    mesh.used = UsedAxes(spec, spec_.params);
    for (size_t i = 0; i < mesh.ranks.size(); ++i) {
      mesh.position.emplace(mesh.ranks[i], i);
      ranks_.push_back(mesh.ranks[i]);
    }
    meshes_.emplace(spec.name, std::move(mesh));
    return true;
  }

  static bool Flatten(const JsonNode& node, std::string* error, std::vector<uint32_t>* out) {
    if (node.kind == JsonNode::Kind::kArray) {
      return std::all_of(node.items.begin(), node.items.end(),
                         [&](const JsonNode& item) { return Flatten(item, error, out); });
    }
    uint32_t rank = 0;
    const char* const end = node.text.data() + node.text.size();
    const auto [stop, status] = std::from_chars(node.text.data(), end, rank);
    if (node.kind != JsonNode::Kind::kNumber || status != std::errc() || stop != end) {
      return Fail(error, "'" + node.text + "' is not a rank");
    }
    out->push_back(rank);
    return true;
  }

  bool AddInstance(Instance* instance, std::vector<NaiveParam>* out, std::string* error) const {
    for (const Expr& condition : instance->param.where) {
      const std::optional<int64_t> holds = instance->scope.Value(condition, error);
      if (!holds) return false;
      if (*holds == 0) return true;
    }
    size_t pushed = 0;
    bool good = true;
    for (const LetSpec& let : instance->param.lets) {
      const std::optional<int64_t> value = instance->scope.Value(let.value, error);
      good = value.has_value();
      if (!good) break;
      instance->scope.Push(let.name, *value);
      ++pushed;
    }
    good = good && AddParam(instance, out, error);
    for (; pushed > 0; --pushed) instance->scope.Pop();
    return good;
  }

  bool AddParam(Instance* instance, std::vector<NaiveParam>* out, std::string* error) const {
    const ParamSpec& spec = instance->param;
    NaiveScope& scope = instance->scope;
    NaiveParam param;
    std::optional<std::string> name = scope.Name(spec.name, error);
    if (!name) return false;
    param.name = *std::move(name);
    for (const NameExpr& share : spec.shares) {
      std::optional<std::string> text = scope.Name(share, error);
      if (!text) return false;
      param.shares.push_back(*std::move(text));
    }
    if (spec.external) {
      param.external = true;
      param.view.dtype = spec.external->dtype;
      if (!scope.Values(spec.external->shape, error, &param.view.shape)) return false;
    } else {
      if (!Evaluate(*spec.value, instance, &param.view, error))
        return Fail(error, "param '" + param.name + "': " + *error);
      if (spec.has_placements &&
          !ApplyPlacements(spec, instance->mesh, instance->coords, &instance->ops, &param.view)) {
        *error = instance->ops.error();
        return Fail(error, "param '" + param.name + "': " + *error);
      }
    }
    out->push_back(std::move(param));
    return true;
  }

  std::optional<int64_t> OptionalValue(const std::optional<Expr>& expr, int64_t otherwise,
                                       const Instance& instance, std::string* error) const {
    return expr ? instance.scope.Value(*expr, error) : std::optional<int64_t>(otherwise);
  }

  // The 0-based dim that `expr` means in a view of `rank` dims.
  std::optional<size_t> Dim(const std::optional<Expr>& expr, size_t rank, const Instance& instance,
                            std::string* error) const {
    const std::optional<int64_t> dim = OptionalValue(expr, 0, instance, error);
    if (!dim) return std::nullopt;
    const int64_t counted = *dim < 0 ? *dim + static_cast<int64_t>(rank) : *dim;
    if (counted >= 0 && std::cmp_less(counted, rank)) return static_cast<size_t>(counted);
    *error = "there is no dim " + std::to_string(*dim) + " among " + std::to_string(rank);
    return std::nullopt;
  }

  bool Evaluate(const ValueSpec& value, Instance* instance, NaiveView* out,
                std::string* error) const {
    const bool good = EvaluateOp(value, instance, out, error);
    if (!good && instance->ops.failed()) *error = instance->ops.error();
    return good;
  }

  bool EvaluateOp(const ValueSpec& value, Instance* instance, NaiveView* out,
                  std::string* error) const {
    switch (value.op) {
      case ValueOp::kTensor:
        return EvaluateTensor(value, instance, out, error);
      case ValueOp::kCat:
        return EvaluateCat(value, instance, out, error);
      case ValueOp::kGroupCat:
        return EvaluateGroupCat(value, instance, out, error);
      case ValueOp::kStack:
        return EvaluateStack(value, instance, out, error);
      default:
        break;
    }
    if (!Evaluate(value.inputs.at(0), instance, out, error)) return false;
    if (value.op == ValueOp::kPermute) return EvaluatePermute(value, instance, out, error);
    if (value.op == ValueOp::kReshape) {
      std::vector<int64_t> shape;
      return instance->scope.Values(value.shape, error, &shape) &&
             instance->ops.Reshape(std::move(shape), out);
    }
    const std::optional<size_t> dim = Dim(value.dim, out->shape.size(), *instance, error);
    if (!dim) return false;
    switch (value.op) {
      case ValueOp::kShard:
        return EvaluateShard(value, *dim, instance, out, error);
      case ValueOp::kPad:
        return EvaluatePad(value, *dim, instance, out, error);
      case ValueOp::kSlice: {
        const std::optional<int64_t> start = instance->scope.Value(*value.start, error);
        const std::optional<int64_t> stop =
            start ? instance->scope.Value(*value.stop, error) : std::nullopt;
        const std::optional<int64_t> step =
            stop ? OptionalValue(value.step, 1, *instance, error) : std::nullopt;
        return step && instance->ops.Slice(*dim, *start, *stop, *step, out);
      }
      default: {
        const std::optional<int64_t> at = instance->scope.Value(*value.at, error);
        return at && instance->ops.Drop(*dim, *at, out);
      }
    }
  }

  bool EvaluateTensor(const ValueSpec& value, Instance* instance, NaiveView* out,
                      std::string* error) const {
    const std::optional<std::string> name = instance->scope.Name(value.tensor, error);
    if (!name) return false;
    const std::optional<uint32_t> tensor = tensors_.Find(*name);
    if (!tensor) return Fail(error, "no tensor is called '" + *name + "'");
    const NaiveTensor& found = tensors_.tensors()[*tensor];
    return instance->ops.Whole(*tensor, found.shape, found.dtype, out);
  }

  bool EvaluateInputs(const ValueSpec& value, Instance* instance, std::vector<NaiveView>* out,
                      std::string* error) const {
    for (const ValueSpec& input : value.inputs) {
      if (!Evaluate(input, instance, &out->emplace_back(), error)) return false;
    }
    return !out->empty() || Fail(error, "an operation has no input");
  }

  bool EvaluateCat(const ValueSpec& value, Instance* instance, NaiveView* out,
                   std::string* error) const {
    std::vector<NaiveView> views;
    if (!EvaluateInputs(value, instance, &views, error)) return false;
    const std::optional<size_t> dim = Dim(value.dim, views[0].shape.size(), *instance, error);
    return dim && instance->ops.Cat(*dim, std::move(views), out);
  }

  bool EvaluateGroupCat(const ValueSpec& value, Instance* instance, NaiveView* out,
                        std::string* error) const {
    std::vector<NaiveView> views;
    if (!EvaluateInputs(value, instance, &views, error)) return false;
    const std::optional<size_t> dim = Dim(value.dim, views[0].shape.size(), *instance, error);
    const std::optional<int64_t> groups =
        dim ? instance->scope.Value(*value.groups, error) : std::nullopt;
    if (!groups) return false;
    if (*groups < 1) return Fail(error, "'group_cat' makes " + std::to_string(*groups) + " groups");
    std::vector<NaiveView> parts;
    for (int64_t group = 0; group < *groups; ++group) {
      for (const NaiveView& view : views) {
        if (*dim >= view.shape.size() || view.shape[*dim] % *groups != 0) {
          return Fail(error,
                      "an input of 'group_cat' has no " + std::to_string(*groups) + " equal parts");
        }
        const int64_t part = view.shape[*dim] / *groups;
        if (!instance->ops.Slice(*dim, group * part, (group + 1) * part, 1,
                                 &parts.emplace_back(view))) {
          return false;
        }
      }
    }
    return instance->ops.Cat(*dim, std::move(parts), out);
  }

  bool EvaluateStack(const ValueSpec& value, Instance* instance, NaiveView* out,
                     std::string* error) const {
    std::vector<int64_t> values;
    if (!instance->scope.Range(value.over->range, error, &values)) return false;
    std::vector<NaiveView> views;
    views.reserve(values.size());
    for (const int64_t number : values) {
      instance->scope.Push(value.over->name, number);
      const bool good = Evaluate(value.inputs.at(0), instance, &views.emplace_back(), error);
      instance->scope.Pop();
      if (!good) return false;
    }
    if (views.empty()) return Fail(error, "a stack has no elements");
    const std::optional<size_t> dim = Dim(value.dim, views[0].shape.size() + 1, *instance, error);
    return dim && instance->ops.Stack(*dim, std::move(views), out);
  }

  bool EvaluatePermute(const ValueSpec& value, Instance* instance, NaiveView* out,
                       std::string* error) const {
    std::vector<size_t> dims;
    for (const Expr& expr : value.dims) {
      const std::optional<size_t> dim = Dim(expr, out->shape.size(), *instance, error);
      if (!dim) return false;
      dims.push_back(*dim);
    }
    return instance->ops.Permute(dims, out);
  }

  bool EvaluatePad(const ValueSpec& value, size_t dim, Instance* instance, NaiveView* out,
                   std::string* error) const {
    const std::optional<int64_t> number =
        instance->scope.Value(value.to ? *value.to : *value.multiple, error);
    if (!number) return false;
    std::optional<int64_t> to = number;
    if (value.multiple) {
      if (*number < 1) return Fail(error, "'pad' to a multiple of " + std::to_string(*number));
      to = CheckedMul(*CheckedCeilDiv(out->shape[dim], *number), *number);
      if (!to) return Fail(error, "a padded extent does not fit 64 bits");
    }
    const uint32_t fill = value.fill == FillRule::kZero ? kNaiveZeroFill : kNaiveKeepFill;
    return instance->ops.Pad(dim, *to, fill, out);
  }

  bool EvaluateShard(const ValueSpec& value, size_t dim, Instance* instance, NaiveView* out,
                     std::string* error) const {
    const std::optional<int64_t> unit = OptionalValue(value.unit, 1, *instance, error);
    if (!unit) return false;
    if (*unit < 1) return Fail(error, "a shard has a unit of " + std::to_string(*unit));
    for (const std::string& axis : value.axes) {
      const auto it = std::find(instance->mesh.axes.begin(), instance->mesh.axes.end(), axis);
      if (it == instance->mesh.axes.end()) return Fail(error, "there is no axis '" + axis + "'");
      const auto index = static_cast<size_t>(it - instance->mesh.axes.begin());
      if (!ShardOnce(value, dim, *unit, instance->mesh.shape[index], instance->coords[index],
                     instance, out, error)) {
        return false;
      }
    }
    return true;
  }

  // Part `part` of `parts` along `dim`, in whole units.
  bool ShardOnce(const ValueSpec& value, size_t dim, int64_t unit, int64_t parts, int64_t part,
                 Instance* instance, NaiveView* out, std::string* error) const {
    const int64_t extent = out->shape[dim];
    const bool chunks = value.uneven == UnevenRule::kChunk;
    if (extent % unit != 0 && !chunks) {
      return Fail(error, "an extent of " + std::to_string(extent) + " has no whole units of " +
                             std::to_string(unit));
    }
    const int64_t units = *CheckedCeilDiv(extent, unit);
    int64_t first = 0;
    int64_t count = 0;
    if (value.replicate_if_fewer && units < parts) {
      if (units == 0 || parts % units != 0) {
        return Fail(error, std::to_string(parts) + " ranks do not share " + std::to_string(units) +
                               " units evenly");
      }
      first = part / (parts / units);
      count = 1;
    } else if (chunks) {
      count = *CheckedCeilDiv(units, parts);
      first = part * count;
    } else {
      if (units % parts != 0 && value.uneven == UnevenRule::kError) {
        return Fail(error, std::to_string(units) + " units do not divide over " +
                               std::to_string(parts) + " ranks");
      }
      const int64_t longer = units % parts;
      count = units / parts + (part < longer ? 1 : 0);
      first = part * (units / parts) + std::min(part, longer);
    }
    // Chunks behind the end are empty; the last unit of chunks may be short.
    const int64_t start = std::min(std::min(first, units) * unit, extent);
    const int64_t stop = std::min(std::min(first + count, units) * unit, extent);
    return instance->ops.Slice(dim, start, stop, 1, out);
  }

  const LayoutSpec& spec_;
  const NaiveTensors& tensors_;
  NaiveFileScope file_;
  std::map<std::string, NaiveMesh, std::less<>> meshes_;
  std::vector<uint32_t> ranks_;
  std::vector<uint32_t> explicit_ranks_;
};

NaiveLayout::NaiveLayout() = default;
NaiveLayout::~NaiveLayout() = default;

bool NaiveLayout::Make(const LayoutSpec& spec, const NaiveTensors& tensors, std::string* error) {
  impl_ = std::make_unique<Impl>(spec, tensors);
  return impl_->Make(error);
}

const std::vector<uint32_t>& NaiveLayout::ranks() const { return impl_->ranks(); }

std::optional<std::vector<int64_t>> NaiveLayout::Coordinates(std::string_view mesh,
                                                             uint32_t rank) const {
  const NaiveMesh* const found = impl_->FindMesh(mesh);
  return found == nullptr ? std::nullopt : found->Coordinates(rank);
}

std::vector<int64_t> NaiveLayout::Signature(uint32_t rank) const { return impl_->Signature(rank); }

bool NaiveLayout::Params(uint32_t rank, std::vector<NaiveParam>* out, std::string* error,
                         int64_t max_steps) const {
  return impl_->Params(rank, out, error, max_steps);
}

}  // namespace reshard
