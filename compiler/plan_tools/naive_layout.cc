#include "compiler/plan_tools/naive_layout.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "compiler/plan_tools/naive_explicit.h"
#include "compiler/plan_tools/naive_placement.h"
#include "compiler/plan_tools/naive_scope.h"
#include "compiler/plan_tools/naive_value.h"
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
      NaiveInstance instance = {param, *mesh, *coords, tensors_, scope, ops};
      const auto add = [&] { return in_budget() && AddInstance(&instance, out, error); };
      if (!scope.ForEach(param.loops, error, add)) return false;
    }
    for (const ExplicitSpec& param : spec_.explicit_params) {
      NaiveScope scope(&file_);
      const auto add = [&] {
        return in_budget() && AddNaiveExplicit(param, rank, tensors_, scope, &ops, out, error);
      };
      if (!scope.ForEach(param.loops, error, add)) return false;
    }
    return true;
  }

 private:
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

  bool AddInstance(NaiveInstance* instance, std::vector<NaiveParam>* out,
                   std::string* error) const {
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

  bool AddParam(NaiveInstance* instance, std::vector<NaiveParam>* out, std::string* error) const {
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
      if (!EvaluateNaive(*spec.value, instance, &param.view, error))
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
