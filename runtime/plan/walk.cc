#include "runtime/plan/walk.h"

#include <algorithm>
#include <utility>

namespace reshard {
namespace {

// A box in memory: bytes in row-major order of `dims`, the last of which is a run (stride 1, no
// instance stride). extent_bytes[d] is what the dims from d on hold.
struct MemoryBox {
  uint32_t family = 0;
  int64_t base_instance = 0;
  int64_t base_bytes = 0;
  std::vector<RunNest::Dim> dims;
  std::vector<int64_t> extent_bytes;
};

// The box of `cell` inside `place`, with dims of extent 1 dropped and adjacent dims merged.
MemoryBox BoxInPlace(const Plan& plan, const PlanCell& cell, const PlanPlace& place) {
  const PlanSuper& super = plan.supers[cell.super];
  MemoryBox box;
  box.family = place.family;
  box.base_instance = place.base_instance;
  box.base_bytes = place.base_bytes;
  const auto append = [&box](const RunNest::Dim& dim) {
    if (dim.extent == 1) return;
    if (!box.dims.empty()) {
      RunNest::Dim& outer = box.dims.back();
      if (outer.stride_bytes == dim.stride_bytes * dim.extent &&
          outer.instance_stride == dim.instance_stride * dim.extent) {
        outer = {outer.extent * dim.extent, dim.stride_bytes, dim.instance_stride};
        return;
      }
    }
    box.dims.push_back(dim);
  };
  for (size_t d = 0; d < super.dims.size(); ++d) {
    const PlanInterval& interval = plan.intervals[plan.cell_dims[cell.first_dim + d]];
    const PlanDimRange& range = plan.place_dims[place.first_dim + d];
    box.base_bytes += (interval.begin - range.begin) * range.stride_bytes;
    box.base_instance += (interval.begin - range.begin) * range.instance_stride;
    append({interval.extent, range.stride_bytes, range.instance_stride});
  }
  append({DTypeBytes(super.dtype), 1, 0});
  // A run even where the element is one byte and lies apart from its neighbours.
  if (box.dims.empty() || box.dims.back().stride_bytes != 1 ||
      box.dims.back().instance_stride != 0) {
    box.dims.push_back({1, 1, 0});
  }
  box.extent_bytes.resize(box.dims.size());
  int64_t bytes = 1;
  for (size_t d = box.dims.size(); d-- > 0;) {
    bytes *= box.dims[d].extent;
    box.extent_bytes[d] = bytes;
  }
  return box;
}

// Appends nests for the bytes [begin, end) of the part of a box whose dims before `depth` are
// fixed; the indices there are already in base_instance and base_bytes.
class NestWriter {
 public:
  NestWriter(const MemoryBox& box, std::vector<RunNest>* out) : box_(box), out_(out) {}

  void Append(size_t depth, int64_t base_instance, int64_t base_bytes, int64_t begin, int64_t end,
              int64_t message_offset) {
    if (begin >= end) return;
    const RunNest::Dim& dim = box_.dims[depth];
    if (depth + 1 == box_.dims.size()) {
      out_->push_back(
          {box_.family, base_instance, base_bytes + begin, end - begin, message_offset, {}});
      return;
    }
    const int64_t step_bytes = box_.extent_bytes[depth + 1];
    const auto inner = [&](int64_t index, int64_t from, int64_t to) {
      Append(depth + 1, base_instance + index * dim.instance_stride,
             base_bytes + index * dim.stride_bytes, from, to,
             message_offset + index * step_bytes + from - begin);
    };
    const int64_t first = begin / step_bytes;
    const int64_t last = end / step_bytes;
    if (first == last) {
      inner(first, begin % step_bytes, end % step_bytes);
      return;
    }
    int64_t whole = first;
    if (begin % step_bytes != 0) {
      inner(first, begin % step_bytes, step_bytes);
      ++whole;
    }
    if (whole < last)
      AppendWhole(depth, base_instance, base_bytes, whole, last,
                  message_offset + whole * step_bytes - begin);
    inner(last, 0, end % step_bytes);
  }

 private:
  // Indices [first, last) of dim `depth`, whole.
  void AppendWhole(size_t depth, int64_t base_instance, int64_t base_bytes, int64_t first,
                   int64_t last, int64_t message_offset) {
    const RunNest::Dim& dim = box_.dims[depth];
    RunNest nest;
    nest.family = box_.family;
    nest.base_instance = base_instance + first * dim.instance_stride;
    nest.base_bytes = base_bytes + first * dim.stride_bytes;
    nest.run_bytes = box_.dims.back().extent;
    nest.message_offset = message_offset;
    if (last - first > 1) {
      nest.dims.push_back({last - first, dim.stride_bytes, dim.instance_stride});
    }
    nest.dims.insert(nest.dims.end(), box_.dims.begin() + static_cast<std::ptrdiff_t>(depth) + 1,
                     box_.dims.end() - 1);
    out_->push_back(std::move(nest));
  }

  const MemoryBox& box_;
  std::vector<RunNest>* const out_;
};

}  // namespace

int64_t CellBytes(const Plan& plan, const PlanCell& cell) {
  const PlanSuper& super = plan.supers[cell.super];
  int64_t bytes = DTypeBytes(super.dtype);
  for (size_t d = 0; d < super.dims.size(); ++d) {
    bytes *= plan.intervals[plan.cell_dims[cell.first_dim + d]].extent;
  }
  return bytes;
}

RankPlaces::RankPlaces(const Plan& plan, uint32_t rank, PlanSide side) : plan_(plan) {
  std::vector<bool> mine(plan.families.size(), false);
  for (uint32_t f = 0; f < plan.families.size(); ++f) {
    const PlanFamily& family = plan.families[f];
    if (family.side != side || !Contains(plan.rank_sets[family.rank_set], rank)) continue;
    mine[f] = true;
    families_.push_back(f);
  }
  range_.assign(plan.supers.size(), {0, 0});
  for (uint32_t p = 0; p < plan.places.size(); ++p) {
    if (mine[plan.places[p].family]) places_.push_back(p);
  }
  std::stable_sort(places_.begin(), places_.end(), [&plan](uint32_t a, uint32_t b) {
    return plan.places[a].super < plan.places[b].super;
  });
  for (uint32_t i = 0; i < places_.size(); ++i) {
    auto& range = range_[plan.places[places_[i]].super];
    if (range.second == 0) range.first = i;
    range.second = i + 1;
  }
}

std::vector<uint32_t> RankPlaces::Containing(uint32_t cell_index) const {
  const PlanCell& cell = plan_.cells[cell_index];
  const size_t dim_count = plan_.supers[cell.super].dims.size();
  std::vector<uint32_t> containing;
  const auto [first, last] = range_[cell.super];
  for (uint32_t i = first; i < last; ++i) {
    const PlanPlace& place = plan_.places[places_[i]];
    bool inside = true;
    for (size_t d = 0; inside && d < dim_count; ++d) {
      const PlanInterval& interval = plan_.intervals[plan_.cell_dims[cell.first_dim + d]];
      const PlanDimRange& range = plan_.place_dims[place.first_dim + d];
      inside = interval.begin >= range.begin &&
               interval.begin + interval.extent <= range.begin + range.extent;
    }
    if (inside) containing.push_back(places_[i]);
  }
  return containing;
}

bool AppendClassRuns(const Plan& plan, const RankPlaces& places, uint32_t cls, int64_t begin,
                     int64_t extent, int64_t message_offset, bool all_places,
                     std::vector<RunNest>* out) {
  const PlanClass& c = plan.classes[cls];
  const int64_t end = begin + extent;
  int64_t cell_begin = 0;
  for (uint32_t i = c.first_cell; i < c.first_cell + c.cell_count && cell_begin < end; ++i) {
    const int64_t cell_end = cell_begin + CellBytes(plan, plan.cells[i]);
    const int64_t from = std::max(begin, cell_begin);
    const int64_t to = std::min(end, cell_end);
    if (from < to) {
      std::vector<uint32_t> containing = places.Containing(i);
      if (containing.empty()) return false;
      if (!all_places) containing.resize(1);
      for (const uint32_t p : containing) {
        const MemoryBox box = BoxInPlace(plan, plan.cells[i], plan.places[p]);
        NestWriter(box, out).Append(0, box.base_instance, box.base_bytes, from - cell_begin,
                                    to - cell_begin, message_offset + from - begin);
      }
    }
    cell_begin = cell_end;
  }
  return cell_begin >= end;
}

}  // namespace reshard
