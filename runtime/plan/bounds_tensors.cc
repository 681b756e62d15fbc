// Bounds rules of tensors, params, places, cells and classes.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/checked_math.h"
#include "runtime/plan/bounds_checker.h"
#include "runtime/plan/rank_rows.h"

namespace reshard {

bool BoundsChecker::LoopsAreSound(const std::vector<int64_t>& begin,
                                  const std::vector<int64_t>& extent) const {
  if (begin.size() != extent.size() || begin.size() > kMaxPlanDims) return false;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (extent[i] < 1 || extent[i] > kMaxPlanBytes || std::abs(begin[i] / 2) > kMaxPlanBytes) {
      return false;
    }
  }
  return true;
}

// Loops have been found sound.
bool BoundsChecker::NameIsSound(const NamePattern& name, const std::vector<int64_t>& loop_begin,
                                const std::vector<int64_t>& loop_extent) const {
  if (name.text.size() != name.holes.size() + 1) return false;
  for (const NamePattern::Hole& hole : name.holes) {
    if (hole.coef.size() != loop_begin.size()) return false;
    int64_t low = 0;
    int64_t high = 0;
    if (!AddProduct(hole.base, 1, &low) || !AddProduct(hole.base, 1, &high)) return false;
    for (size_t i = 0; i < hole.coef.size(); ++i) {
      const int64_t first = loop_begin[i];
      const int64_t last = loop_begin[i] + loop_extent[i] - 1;
      const bool rising = hole.coef[i] >= 0;
      if (!AddProduct(hole.coef[i], rising ? first : last, &low)) return false;
      if (!AddProduct(hole.coef[i], rising ? last : first, &high)) return false;
    }
  }
  return true;
}

// Dims of an axis stand together, heaviest first, each weight a multiple of the next, the last 1.
bool BoundsChecker::DimsAreSound(const PlanSuper& super) const {
  const size_t axis_count = super.loop_extent.size() + super.shape.size();
  size_t next_axis = 0;
  for (size_t d = 0; d < super.dims.size(); ++d) {
    const PlanSuper::Dim& dim = super.dims[d];
    const bool starts_axis = d == 0 || super.dims[d - 1].axis != dim.axis;
    const bool ends_axis = d + 1 == super.dims.size() || super.dims[d + 1].axis != dim.axis;
    if (starts_axis && dim.axis != next_axis++) return false;
    if (dim.weight < 1 || dim.weight > kMaxPlanBytes) return false;
    if (ends_axis && dim.weight != 1) return false;
    if (!starts_axis) {
      const int64_t heavier = super.dims[d - 1].weight;
      if (heavier <= dim.weight || heavier % dim.weight != 0) return false;
    }
  }
  return next_axis == axis_count;
}

void BoundsChecker::CheckSupers() {
  for (size_t i = 0; i < plan_.supers.size(); ++i) {
    const PlanSuper& super = plan_.supers[i];
    if (!Require(LoopsAreSound(super.loop_begin, super.loop_extent) &&
                     super.shape.size() <= kMaxPlanDims && super.dims.size() <= kMaxPlanDims,
                 "tensor", i, "has impossible loops or too many dims")) {
      continue;
    }
    Require(NameIsSound(super.name, super.loop_begin, super.loop_extent), "tensor", i,
            "has a name that does not fit its loops");
    Require(static_cast<uint8_t>(super.dtype) < kDTypeCount, "tensor", i, "has an unknown dtype");
    std::optional<int64_t> elements = CheckedProduct<int64_t>(super.loop_extent);
    for (const int64_t extent : super.shape) {
      if (extent < 0) elements = std::nullopt;
      if (elements) elements = CheckedMul(*elements, extent);
    }
    Require(elements && *elements <= kMaxPlanBytes / 8, "tensor", i, "has an impossible shape");
    Require(DimsAreSound(super), "tensor", i, "has dims that do not number its axes");
  }
}

void BoundsChecker::CheckFamilies() {
  int64_t stored_bytes = 0;
  for (size_t i = 0; i < plan_.families.size(); ++i) {
    const PlanFamily& family = plan_.families[i];
    Require(family.side <= PlanSide::kDestination, "param", i, "is on an unknown side");
    if (!Require(family.rank_set < plan_.rank_sets.size(), "param", i,
                 "is on a rank set that does not exist") ||
        !Require(static_cast<uint8_t>(family.dtype) < kDTypeCount, "param", i,
                 "has an unknown dtype") ||
        !Require(LoopsAreSound(family.loop_begin, family.loop_extent) &&
                     family.shape.size() <= kMaxPlanDims,
                 "param", i, "has impossible loops or too many dims")) {
      continue;
    }
    bool named = NameIsSound(family.name, family.loop_begin, family.loop_extent);
    for (const NamePattern& name : family.shares) {
      named = named && NameIsSound(name, family.loop_begin, family.loop_extent);
    }
    Require(named, "param", i, "has a name that does not fit its loops");
    std::optional<int64_t> bytes = DTypeBytes(family.dtype);
    for (const int64_t extent : family.shape) {
      if (extent < 0) bytes = std::nullopt;
      if (bytes) bytes = CheckedMul(*bytes, extent);
    }
    Require(bytes == family.bytes, "param", i, "has another size than its shape says");
    std::optional<int64_t> total = CheckedProduct<int64_t>(family.loop_extent);
    if (total) total = CheckedMul(*total, std::max<int64_t>(family.bytes, 1));
    const auto ranks = static_cast<int64_t>(plan_.rank_sets[family.rank_set].size());
    Require(total && AddProduct(*total, ranks, &stored_bytes) && stored_bytes <= kMaxPlanBytes,
            "param", i, "stores an impossible number of bytes");
  }
}

// Whoever binds the params of a rank lists them, so that their number may not just be claimed.
void BoundsChecker::CheckInstances() {
  std::vector<int64_t> of_set(plan_.rank_sets.size(), 0);
  for (size_t i = 0; i < plan_.families.size(); ++i) {
    const PlanFamily& family = plan_.families[i];
    int64_t& instances = of_set[family.rank_set];
    instances += *CheckedProduct<int64_t>(family.loop_extent);
    if (!Require(instances <= kMaxRankParams, "param", i, "has more instances than a rank may"))
      return;
  }
  std::vector<int64_t> of_rank(plan_.ranks.size(), 0);
  for (size_t set = 0; set < plan_.rank_sets.size(); ++set) {
    if (of_set[set] == 0) continue;
    size_t at = RowOfRank(plan_.ranks, plan_.rank_sets[set][0]);  // sets and plan.ranks both rise
    for (const Rank rank : plan_.rank_sets[set]) {
      while (plan_.ranks[at].rank < rank) ++at;
      of_rank[at] += of_set[set];
      if (!Require(of_rank[at] <= kMaxRankParams, "rank entry", at, "stores too many params")) {
        return;
      }
    }
  }
}

// `range_of(d)` is a pair (begin, extent). Every digit lies in its own range, and the indices along
// each axis in the tensor.
template <class RangeOf>
bool BoundsChecker::BoxIsInside(const PlanSuper& super, const RangeOf& range_of) const {
  const size_t loop_count = super.loop_extent.size();
  int64_t first = 0;
  int64_t last = 0;
  for (size_t d = 0; d < super.dims.size(); ++d) {
    const PlanSuper::Dim& dim = super.dims[d];
    const auto [begin, extent] = range_of(d);
    if (extent < 1 || extent > kMaxPlanBytes || std::abs(begin / 2) > kMaxPlanBytes) return false;
    if (d > 0 && super.dims[d - 1].axis == dim.axis) {
      if (begin < 0 || begin + extent > super.dims[d - 1].weight / dim.weight) return false;
    } else {
      first = 0;
      last = 0;
    }
    if (!AddProduct(begin, dim.weight, &first)) return false;
    if (!AddProduct(begin + extent - 1, dim.weight, &last)) return false;
    if (d + 1 < super.dims.size() && super.dims[d + 1].axis == dim.axis) continue;
    const bool loop = dim.axis < loop_count;
    const int64_t low = loop ? super.loop_begin[dim.axis] : 0;
    const int64_t extent_of_axis =
        loop ? super.loop_extent[dim.axis] : super.shape[dim.axis - loop_count];
    if (first < low || last >= low + extent_of_axis) return false;
  }
  return true;
}

void BoundsChecker::CheckPlaces() {
  for (size_t i = 0; i < plan_.places.size(); ++i) {
    const PlanPlace& place = plan_.places[i];
    if (!Require(place.super < plan_.supers.size(), "place", i, "has no tensor") ||
        !Require(place.family < plan_.families.size(), "place", i, "has no param")) {
      continue;
    }
    const PlanSuper& super = plan_.supers[place.super];
    if (!Require(Fits(place.first_dim, super.dims.size(), plan_.place_dims.size()), "place", i,
                 "has dims outside their table")) {
      continue;
    }
    const PlanDimRange* dims = plan_.place_dims.data() + place.first_dim;
    Require(
        BoxIsInside(super, [dims](size_t d) { return std::pair(dims[d].begin, dims[d].extent); }),
        "place", i, "is a box outside its tensor");
    // The reach of each map in both directions.
    int64_t bytes_low = place.base_bytes;
    int64_t bytes_high = place.base_bytes;
    int64_t instance_low = place.base_instance;
    int64_t instance_high = place.base_instance;
    bool sound = place.base_bytes >= 0 && place.base_bytes <= kMaxReach &&
                 place.base_instance >= 0 && place.base_instance <= kMaxReach;
    for (size_t d = 0; sound && d < super.dims.size(); ++d) {
      const int64_t steps = dims[d].extent - 1;
      sound = AddProduct(steps, dims[d].stride_bytes,
                         dims[d].stride_bytes < 0 ? &bytes_low : &bytes_high) &&
              AddProduct(steps, dims[d].instance_stride,
                         dims[d].instance_stride < 0 ? &instance_low : &instance_high);
    }
    Require(sound, "place", i, "has offsets beyond any memory");
  }
}

void BoundsChecker::CheckFills() {
  for (size_t i = 0; i < plan_.fills.size(); ++i) {
    const PlanFill& fill = plan_.fills[i];
    Require(fill.family < plan_.families.size(), "fill", i, "has no param");
    Require(fill.rule <= PlanFillRule::kKeep, "fill", i, "has an unknown rule");
    if (!Require(fill.dim_count <= kMaxPlanDims &&
                     Fits(fill.first_dim, fill.dim_count, plan_.fill_dims.size()),
                 "fill", i, "has dims outside their table")) {
      continue;
    }
    int64_t low = fill.base_bytes;
    int64_t high = fill.base_bytes;
    int64_t count = 1;
    bool sound = fill.base_bytes >= 0 && fill.base_bytes <= kMaxReach;
    for (size_t d = 0; sound && d < fill.dim_count; ++d) {
      const PlanFillDim& dim = plan_.fill_dims[fill.first_dim + d];
      const std::optional<int64_t> product = CheckedMul(count, dim.extent);
      sound = dim.extent >= 1 && product && *product <= kMaxPlanBytes &&
              AddProduct(dim.extent - 1, dim.stride_bytes, dim.stride_bytes < 0 ? &low : &high);
      count = product.value_or(0);
    }
    Require(sound, "fill", i, "has offsets beyond any memory");
  }
}

void BoundsChecker::CheckClasses() {
  for (size_t i = 0; i < plan_.intervals.size(); ++i) {
    const PlanInterval& interval = plan_.intervals[i];
    Require(interval.extent >= 1 && interval.extent <= kMaxPlanBytes &&
                std::abs(interval.begin / 2) <= kMaxPlanBytes,
            "interval", i, "is empty or impossible");
  }
  for (const uint32_t dim : plan_.cell_dims) {
    if (!Require(dim < plan_.intervals.size(), "interval", dim, "does not exist")) return;
  }
  for (size_t i = 0; i < plan_.cells.size(); ++i) {
    const PlanCell& cell = plan_.cells[i];
    if (!Require(cell.super < plan_.supers.size(), "cell", i, "has no tensor")) continue;
    const PlanSuper& super = plan_.supers[cell.super];
    if (!Require(Fits(cell.first_dim, super.dims.size(), plan_.cell_dims.size()), "cell", i,
                 "has dims outside their table")) {
      continue;
    }
    Require(BoxIsInside(super,
                        [this, &cell](size_t d) {
                          const PlanInterval& interval =
                              plan_.intervals[plan_.cell_dims[cell.first_dim + d]];
                          return std::pair(interval.begin, interval.extent);
                        }),
            "cell", i, "is a box outside its tensor");
  }
  uint64_t next_cell = 0;
  for (size_t i = 0; i < plan_.classes.size(); ++i) {
    const PlanClass& cls = plan_.classes[i];
    Require(cls.holders < plan_.rank_sets.size() && cls.needers < plan_.rank_sets.size(), "class",
            i, "has a rank set that does not exist");
    Require(cls.bytes >= 1 && cls.bytes <= kMaxPlanBytes, "class", i,
            "has an impossible number of bytes");
    Require(cls.first_cell == next_cell && cls.cell_count >= 1, "class", i,
            "does not begin where the cells of the class before end");
    next_cell += cls.cell_count;
  }
  if (next_cell != plan_.cells.size()) {
    Add(VerifyRule::kBounds, "classes", "their cells are not all cells");
  }
}

}  // namespace reshard
