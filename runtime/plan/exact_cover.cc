#include "runtime/plan/exact_cover.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reshard {
namespace {

using Region = StridedRegion;

// Unfolded regions that may exist in one check: bounds memory, where the budget bounds time.
constexpr int64_t kMaxUnfolded = int64_t{1} << 21;
// A region is copied and sorted wherever it is looked at.
constexpr uint64_t kStepsPerRegion = 16;
// Folds inside folds: regions of one tensor have a few, and each takes part of the stack.
constexpr int kMaxFolds = 64;

// From the first byte to behind the last; strides are positive.
int64_t SpanBytes(const Region& region) {
  int64_t bytes = region.run_bytes;
  for (const Region::Dim& dim : region.dims) bytes += (dim.extent - 1) * dim.stride_bytes;
  return bytes;
}

Region WithoutOuter(const Region& region) {
  Region inner = region;
  inner.dims.erase(inner.dims.begin());
  return inner;
}

// `extent` copies of `inner`, the first moved by `skip` strides.
Region Repeated(const Region& inner, int64_t skip, int64_t extent, int64_t stride_bytes) {
  Region region = inner;
  region.begin += skip * stride_bytes;
  if (extent > 1) region.dims.insert(region.dims.begin(), {extent, stride_bytes});
  return region;
}

// Cuts at `byte`, which lies inside the span. Rows of a dim do not reach into each other.
void SplitAt(const Region& region, int64_t byte, std::vector<Region>* out) {
  if (region.dims.empty()) {
    out->push_back(region);
    out->back().run_bytes = byte - region.begin;
    out->push_back(region);
    out->back().begin = byte;
    out->back().run_bytes = region.begin + region.run_bytes - byte;
    return;
  }
  const Region::Dim outer = region.dims.front();
  const Region inner = WithoutOuter(region);
  const int64_t at = (byte - region.begin) / outer.stride_bytes;  // the row that may be cut
  const Region row = Repeated(inner, at, 1, outer.stride_bytes);
  if (at > 0) out->push_back(Repeated(inner, 0, at, outer.stride_bytes));
  if (row.begin < byte && row.begin + SpanBytes(row) > byte) {
    SplitAt(row, byte, out);
  } else {
    out->push_back(row);
  }
  if (at + 1 < outer.extent) {
    out->push_back(Repeated(inner, at + 1, outer.extent - at - 1, outer.stride_bytes));
  }
}

// A region that repeats in rows [row, row + row_count) of a fold; `region` is the first of them.
struct Band {
  int64_t row = 0;
  int64_t row_count = 1;
  Region region;
};

class Coverer {
 public:
  Coverer(bool allow_gaps, const std::function<bool(uint64_t)>& charge)
      : allow_gaps_(allow_gaps), charge_(charge) {}

  CoverResult Run(std::vector<Region> regions, int64_t line_bytes) {
    std::vector<Region> nested;
    for (Region& region : regions) {
      if (!Normalize(&region) || !Unfold(std::move(region), &nested)) return result_;
    }
    Cover(0, line_bytes, std::move(nested));
    return result_;
  }

 private:
  bool Charge(uint64_t steps) {
    if (!charge_(steps)) result_.exhausted = true;
    return !result_.exhausted;
  }
  bool Gap(int64_t byte) {
    if (allow_gaps_) return true;
    result_.fault = CoverFault{byte, true, 0, 0};
    return false;
  }
  bool Overlap(int64_t byte, uint32_t first, uint32_t second) {
    result_.fault = CoverFault{byte, false, first, second};
    return false;
  }

  // Positive strides, widest first, adjacent dims and the run merged.
  bool Normalize(Region* region) {
    std::vector<Region::Dim> dims;
    for (Region::Dim dim : region->dims) {
      if (dim.extent == 1) continue;
      if (dim.stride_bytes == 0) return Overlap(region->begin, region->id, region->id);
      if (dim.stride_bytes < 0) {
        region->begin += (dim.extent - 1) * dim.stride_bytes;
        dim.stride_bytes = -dim.stride_bytes;
      }
      dims.push_back(dim);
    }
    std::sort(dims.begin(), dims.end(), [](const Region::Dim& a, const Region::Dim& b) {
      return std::tie(a.stride_bytes, a.extent) < std::tie(b.stride_bytes, b.extent);
    });
    region->dims.clear();  // narrowest first until the end
    for (const Region::Dim& dim : dims) {
      if (region->dims.empty() && dim.stride_bytes == region->run_bytes) {
        region->run_bytes *= dim.extent;
      } else if (!region->dims.empty() &&
                 region->dims.back().stride_bytes * region->dims.back().extent ==
                     dim.stride_bytes) {
        region->dims.back().extent *= dim.extent;
      } else {
        region->dims.push_back(dim);
      }
    }
    std::reverse(region->dims.begin(), region->dims.end());
    return true;
  }

  // Appends `region` as regions whose rows do not reach into each other.
  bool Unfold(Region region, std::vector<Region>* out) {
    int64_t inner_bytes = region.run_bytes;
    for (size_t d = region.dims.size(); d-- > 0;) {
      const Region::Dim dim = region.dims[d];
      if (dim.stride_bytes >= inner_bytes) {
        inner_bytes += (dim.extent - 1) * dim.stride_bytes;
        continue;
      }
      if (!ChargeUnfolded(dim.extent)) return false;
      region.dims.erase(region.dims.begin() + static_cast<std::ptrdiff_t>(d));
      for (int64_t i = 0; i < dim.extent; ++i) {
        Region row = region;
        row.begin += i * dim.stride_bytes;
        if (!Normalize(&row) || !Unfold(std::move(row), out)) return false;
      }
      return true;
    }
    out->push_back(std::move(region));
    return true;
  }
  bool ChargeUnfolded(int64_t regions) {
    if (regions > kMaxUnfolded - unfolded_) result_.exhausted = true;
    unfolded_ += regions;
    return !result_.exhausted && Charge(static_cast<uint64_t>(regions));
  }

  // All regions lie inside [begin, end). False when something is wrong.
  bool Cover(int64_t begin, int64_t end, std::vector<Region> regions) {
    if (!Charge(kStepsPerRegion * (regions.size() + 1))) return false;
    std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) {
      return std::tie(a.begin, a.id) < std::tie(b.begin, b.id);
    });
    int64_t covered = begin;
    for (size_t first = 0; first < regions.size();) {
      const int64_t cluster_begin = regions[first].begin;
      int64_t cluster_end = cluster_begin + SpanBytes(regions[first]);
      size_t last = first + 1;
      for (; last < regions.size() && regions[last].begin < cluster_end; ++last) {
        cluster_end = std::max(cluster_end, regions[last].begin + SpanBytes(regions[last]));
      }
      if (cluster_begin > covered && !Gap(covered)) return false;
      if (!CoverCluster(cluster_begin, cluster_end, &regions[first], last - first)) return false;
      covered = cluster_end;
      first = last;
    }
    return covered == end || Gap(covered);
  }

  // Regions whose spans hang together, rising by begin, and fill [begin, end) from end to end.
  bool CoverCluster(int64_t begin, int64_t end, const Region* regions, size_t count) {
    if (count == 1) {
      return regions[0].dims.empty() || Gap(regions[0].begin + regions[0].run_bytes);
    }
    int64_t stride_bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!regions[i].dims.empty()) {
        stride_bytes = std::max(stride_bytes, regions[i].dims.front().stride_bytes);
      }
    }
    if (stride_bytes == 0) return Overlap(regions[1].begin, regions[0].id, regions[1].id);
    if (folds_ == kMaxFolds) {
      result_.exhausted = true;
      return false;
    }
    std::vector<Band> bands;
    for (size_t i = 0; i < count; ++i) {
      if (!AddBands(regions[i], begin, stride_bytes, &bands)) return false;
    }
    ++folds_;
    const bool covered = CoverBands(begin, end, stride_bytes, std::move(bands));
    --folds_;
    return covered;
  }

  // Cuts a region into bands of the rows [begin + k * stride_bytes, begin + (k + 1) *
  // stride_bytes).
  bool AddBands(const Region& region, int64_t begin, int64_t stride_bytes,
                std::vector<Band>* bands) {
    if (!Charge(kStepsPerRegion)) return false;
    const int64_t row = (region.begin - begin) / stride_bytes;
    const int64_t row_end = begin + (row + 1) * stride_bytes;
    if (region.begin + SpanBytes(region) <= row_end) {
      bands->push_back({row, 1, region});
      return true;
    }
    if (region.dims.empty()) {
      AddRunBands(region, row, row_end, stride_bytes, bands);
      return true;
    }
    const Region::Dim outer = region.dims.front();
    const Region inner = WithoutOuter(region);
    if (outer.stride_bytes == stride_bytes) {
      if (region.begin + SpanBytes(inner) <= row_end) {
        bands->push_back({row, outer.extent, inner});
        return true;
      }
      std::vector<Region> parts;
      SplitAt(inner, row_end, &parts);
      for (Region& part : parts) {
        bands->push_back({row + (part.begin < row_end ? 0 : 1), outer.extent, std::move(part)});
      }
      return true;
    }
    if (stride_bytes % outer.stride_bytes == 0) {
      return AddNarrowBands(region, row, row_end, begin, stride_bytes, bands);
    }
    if (!ChargeUnfolded(outer.extent)) return false;
    for (int64_t i = 0; i < outer.extent; ++i) {
      const Region one = Repeated(inner, i, 1, outer.stride_bytes);
      if (!AddBands(one, begin, stride_bytes, bands)) return false;
    }
    return true;
  }

  // A run that crosses rows: a part, whole rows, a part.
  static void AddRunBands(const Region& run, int64_t row, int64_t row_end, int64_t stride_bytes,
                          std::vector<Band>* bands) {
    const int64_t end = run.begin + run.run_bytes;
    const int64_t whole = (end - row_end) / stride_bytes;
    Band part{row, 1, run};
    part.region.run_bytes = row_end - run.begin;
    bands->push_back(part);
    part.region.begin = row_end;
    if (whole > 0) {
      part.region.run_bytes = stride_bytes;
      bands->push_back({row + 1, whole, part.region});
    }
    part.region.begin += whole * stride_bytes;
    part.region.run_bytes = end - part.region.begin;
    if (part.region.run_bytes > 0) bands->push_back({row + 1 + whole, 1, part.region});
  }

  // A region with an outer stride that divides the rows: what begins in the first row, the same in
  // each whole row, a rest. Where one inner part crosses the end of a row, one does in every row.
  bool AddNarrowBands(const Region& region, int64_t row, int64_t row_end, int64_t begin,
                      int64_t stride_bytes, std::vector<Band>* bands) {
    const auto [extent, step_bytes] = region.dims.front();
    const Region inner = WithoutOuter(region);
    const int64_t per_row = stride_bytes / step_bytes;
    const int64_t in_first =
        std::min(extent, (row_end - region.begin + step_bytes - 1) / step_bytes);
    const bool crosses = region.begin + (in_first - 1) * step_bytes + SpanBytes(inner) > row_end;
    const int64_t crossing = crosses ? 1 : 0;
    const int64_t whole_rows = (extent - in_first) / per_row;
    const int64_t rest = (extent - in_first) % per_row;
    if (in_first > crossing) {
      bands->push_back({row, 1, Repeated(inner, 0, in_first - crossing, step_bytes)});
    }
    if (whole_rows > 0 && per_row > crossing) {
      bands->push_back(
          {row + 1, whole_rows, Repeated(inner, in_first, per_row - crossing, step_bytes)});
    }
    if (rest > 0) {
      bands->push_back({row + 1 + whole_rows, 1,
                        Repeated(inner, in_first + whole_rows * per_row, rest, step_bytes)});
    }
    if (!crosses) return true;
    Region crossers = inner;
    crossers.begin += (in_first - 1) * step_bytes;
    return AddBands(Repeated(crossers, 0, 1 + whole_rows, stride_bytes), begin, stride_bytes,
                    bands);
  }

  // Rows between two ends of bands are all alike: one of them is checked.
  bool CoverBands(int64_t begin, int64_t end, int64_t stride_bytes, std::vector<Band> bands) {
    std::vector<int64_t> ends;
    for (const Band& band : bands) {
      ends.push_back(band.row);
      ends.push_back(band.row + band.row_count);
    }
    if ((end - begin) % stride_bytes != 0) ends.push_back((end - begin) / stride_bytes);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::sort(bands.begin(), bands.end(),
              [](const Band& a, const Band& b) { return a.row < b.row; });
    std::vector<const Band*> active;
    size_t next = 0;
    for (size_t i = 0; i + 1 < ends.size(); ++i) {
      const int64_t row = ends[i];
      std::erase_if(active, [row](const Band* band) { return band->row + band->row_count <= row; });
      for (; next < bands.size() && bands[next].row == row; ++next) active.push_back(&bands[next]);
      std::vector<Region> regions;
      for (const Band* band : active) {
        regions.push_back(band->region);
        regions.back().begin += (row - band->row) * stride_bytes;
      }
      const int64_t row_begin = begin + row * stride_bytes;
      if (!Cover(row_begin, std::min(row_begin + stride_bytes, end), std::move(regions))) {
        return false;
      }
    }
    return true;
  }

  const bool allow_gaps_;
  const std::function<bool(uint64_t)>& charge_;
  int64_t unfolded_ = 0;
  int folds_ = 0;
  CoverResult result_;
};

}  // namespace

CoverResult CheckExactCover(std::vector<StridedRegion> regions, int64_t line_bytes, bool allow_gaps,
                            const std::function<bool(uint64_t)>& charge) {
  return Coverer(allow_gaps, charge).Run(std::move(regions), line_bytes);
}

}  // namespace reshard
