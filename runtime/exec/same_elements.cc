#include "runtime/exec/same_elements.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace reshard {

// Spreads one place over the instances of its family: dims that step from instance to instance take
// one value each.
class SameElements::Finder {
 public:
  Finder(const Plan& plan, const PlanPlace& place, std::vector<std::vector<Region>>* out)
      : out_(*out) {
    region_.super = place.super;
    region_.base_bytes = place.base_bytes;
    const size_t count = plan.supers[place.super].dims.size();
    const auto first = plan.place_dims.begin() + place.first_dim;
    region_.dims.assign(first, first + static_cast<ptrdiff_t>(count));
    for (size_t d = 0; d < count; ++d) {
      if (region_.dims[d].instance_stride != 0 && region_.dims[d].extent > 1) steps_.push_back(d);
    }
    Fix(0, place.base_instance);
  }

 private:
  void Fix(size_t step, int64_t instance) {
    if (step == steps_.size()) {
      out_[static_cast<size_t>(instance)].push_back(region_);
      return;
    }
    PlanDimRange& dim = region_.dims[steps_[step]];
    const PlanDimRange whole = dim;
    const int64_t base_bytes = region_.base_bytes;
    for (int64_t i = 0; i < whole.extent; ++i) {
      dim = {whole.begin + i, 1, 0, 0};
      region_.base_bytes = base_bytes + i * whole.stride_bytes;
      Fix(step + 1, instance + i * whole.instance_stride);
    }
    dim = whole;
    region_.base_bytes = base_bytes;
  }

  Region region_;
  std::vector<size_t> steps_;  // dims that step over instances
  std::vector<std::vector<Region>>& out_;
};

const std::vector<SameElements::Region>& SameElements::RegionsOf(FamilyInstance param) {
  const auto [at, is_new] = regions_.try_emplace(param.family);
  if (is_new) {
    size_t instances = 1;
    for (const int64_t extent : plan_.families[param.family].loop_extent) {
      instances *= static_cast<size_t>(extent);
    }
    at->second.resize(instances);
    for (const PlanPlace& place : plan_.places) {
      if (place.family == param.family) Finder(plan_, place, &at->second);
    }
  }
  return at->second[static_cast<size_t>(param.instance)];
}

// Whether `outer` has every element of `inner`, at the same byte.
bool SameElements::Covers(const Region& outer, const Region& inner) {
  if (outer.super != inner.super) return false;
  int64_t base_bytes = outer.base_bytes;  // of inner's first element, in outer
  for (size_t d = 0; d < inner.dims.size(); ++d) {
    const PlanDimRange& a = outer.dims[d];
    const PlanDimRange& b = inner.dims[d];
    if (b.begin < a.begin || b.begin + b.extent > a.begin + a.extent) return false;
    if (b.extent > 1 && a.stride_bytes != b.stride_bytes) return false;
    base_bytes += (b.begin - a.begin) * a.stride_bytes;
  }
  return base_bytes == inner.base_bytes;
}

bool SameElements::SameFill(const PlanFill& a, const PlanFill& b) const {
  if (a.base_bytes != b.base_bytes || a.dim_count != b.dim_count) return false;
  const std::span<const PlanFillDim> dims(plan_.fill_dims);
  return std::equal(dims.begin() + a.first_dim, dims.begin() + a.first_dim + a.dim_count,
                    dims.begin() + b.first_dim, [](const PlanFillDim& x, const PlanFillDim& y) {
                      return x.extent == y.extent && x.stride_bytes == y.stride_bytes;
                    });
}

bool SameElements::Holds(FamilyInstance source, FamilyInstance destination) {
  const std::vector<Region>& held = RegionsOf(source);
  const std::vector<Region>& needed = RegionsOf(destination);
  const bool all = std::all_of(needed.begin(), needed.end(), [&](const Region& inner) {
    return std::any_of(held.begin(), held.end(),
                       [&](const Region& outer) { return Covers(outer, inner); });
  });
  if (!all) return false;
  return std::all_of(plan_.fills.begin(), plan_.fills.end(), [&](const PlanFill& fill) {
    if (fill.family != destination.family || fill.rule != PlanFillRule::kZero) return true;
    return std::any_of(plan_.fills.begin(), plan_.fills.end(), [&](const PlanFill& other) {
      return other.family == source.family && SameFill(fill, other);
    });
  });
}

}  // namespace reshard
