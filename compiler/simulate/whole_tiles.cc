#include "compiler/simulate/whole_tiles.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/base/dtype.h"
#include "runtime/base/rank_set.h"

namespace reshard {
namespace {

using Box = std::vector<PlanInterval>;

// What one class needs of the tiles of a place: a range per dim that tells buffers apart.
struct Touch {
  Box instances;
  uint32_t needers = 0;  // rank set
};

class Finder {
 public:
  explicit Finder(const Plan& plan) : plan_(plan), places_of_super_(plan.supers.size()) {
    for (uint32_t p = 0; p < plan.places.size(); ++p) {
      const PlanPlace& place = plan.places[p];
      if (plan.families[place.family].side == PlanSide::kSource) {
        places_of_super_[place.super].push_back(p);
      }
    }
  }

  std::vector<TileSend> Run() {
    for (const PlanClass& cls : plan_.classes) {
      const uint32_t holder = plan_.rank_sets[cls.holders].front();
      for (uint32_t c = cls.first_cell; c < cls.first_cell + cls.cell_count; ++c) {
        AddCell(plan_.cells[c], holder, cls.needers);
      }
    }
    for (const auto& [key, touches] : touches_) AddSends(key.first, key.second, touches);
    return std::move(sends_);
  }

 private:
  size_t DimCount(uint32_t super) const { return plan_.supers[super].dims.size(); }
  const PlanInterval& CellDim(const PlanCell& cell, size_t d) const {
    return plan_.intervals[plan_.cell_dims[cell.first_dim + d]];
  }
  const PlanDimRange& PlaceDim(const PlanPlace& place, size_t d) const {
    return plan_.place_dims[place.first_dim + d];
  }

  bool Holds(const PlanPlace& place, const PlanCell& cell, uint32_t rank) const {
    for (size_t d = 0; d < DimCount(cell.super); ++d) {
      const PlanInterval& inner = CellDim(cell, d);
      const PlanDimRange& outer = PlaceDim(place, d);
      if (inner.begin < outer.begin || inner.begin + inner.extent > outer.begin + outer.extent) {
        return false;
      }
    }
    return Contains(plan_.rank_sets[plan_.families[place.family].rank_set], rank);
  }

  void AddCell(const PlanCell& cell, uint32_t holder, uint32_t needers) {
    for (const uint32_t p : places_of_super_[cell.super]) {
      const PlanPlace& place = plan_.places[p];
      if (!Holds(place, cell, holder)) continue;
      Touch touch;
      touch.needers = needers;
      for (size_t d = 0; d < DimCount(cell.super); ++d) {
        if (PlaceDim(place, d).instance_stride != 0) touch.instances.push_back(CellDim(cell, d));
      }
      touches_[{p, holder}].push_back(std::move(touch));
      return;
    }
  }

  int64_t TileBytes(const PlanPlace& place) const {
    int64_t elements = 1;
    for (size_t d = 0; d < DimCount(place.super); ++d) {
      if (PlaceDim(place, d).instance_stride == 0) elements *= PlaceDim(place, d).extent;
    }
    return elements * DTypeBytes(plan_.supers[place.super].dtype);
  }

  // Cuts the touched boxes at each other's ends; what is left is equal or disjoint.
  void AddSends(uint32_t place, uint32_t holder, const std::vector<Touch>& touches) {
    const size_t dims = touches.front().instances.size();
    std::vector<std::vector<int64_t>> cuts(dims);
    for (const Touch& touch : touches) {
      for (size_t d = 0; d < dims; ++d) {
        cuts[d].push_back(touch.instances[d].begin);
        cuts[d].push_back(touch.instances[d].begin + touch.instances[d].extent);
      }
    }
    for (std::vector<int64_t>& dim : cuts) {
      std::sort(dim.begin(), dim.end());
      dim.erase(std::unique(dim.begin(), dim.end()), dim.end());
    }
    // Per elementary box, by its first corner: how many tiles, and the rank sets that need them.
    std::map<std::vector<int64_t>, std::pair<int64_t, std::vector<uint32_t>>> boxes;
    for (const Touch& touch : touches) {
      std::vector<int64_t> corner(dims);
      ForEachBox(touch, cuts, 0, 1, &corner, &boxes);
    }
    std::map<std::vector<uint32_t>, int64_t> tiles_of_needers;
    for (auto& [corner, box] : boxes) {
      std::sort(box.second.begin(), box.second.end());
      box.second.erase(std::unique(box.second.begin(), box.second.end()), box.second.end());
      tiles_of_needers[box.second] += box.first;
    }
    for (const auto& [sets, count] : tiles_of_needers) {
      RankList needers;
      for (const uint32_t set : sets) needers = Union(needers, plan_.rank_sets[set]);
      sends_.push_back({holder, std::move(needers), TileBytes(plan_.places[place]), count});
    }
  }

  void ForEachBox(
      const Touch& touch, const std::vector<std::vector<int64_t>>& cuts, size_t dim, int64_t count,
      std::vector<int64_t>* corner,
      std::map<std::vector<int64_t>, std::pair<int64_t, std::vector<uint32_t>>>* boxes) {
    if (dim == cuts.size()) {
      auto& box = (*boxes)[*corner];
      box.first = count;
      box.second.push_back(touch.needers);
      return;
    }
    const int64_t end = touch.instances[dim].begin + touch.instances[dim].extent;
    auto cut = std::lower_bound(cuts[dim].begin(), cuts[dim].end(), touch.instances[dim].begin);
    for (; *cut < end; ++cut) {
      (*corner)[dim] = *cut;
      ForEachBox(touch, cuts, dim + 1, count * (*(cut + 1) - *cut), corner, boxes);
    }
  }

  const Plan& plan_;
  std::vector<std::vector<uint32_t>> places_of_super_;                   // of the source side
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Touch>> touches_;  // by (place, holder)
  std::vector<TileSend> sends_;
};

}  // namespace

std::vector<TileSend> WholeTiles(const Plan& plan) { return Finder(plan).Run(); }

}  // namespace reshard
