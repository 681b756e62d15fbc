#include "runtime/plan/exact_cover.h"

#include <cstdint>
#include <random>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// How often each byte of the line is covered, byte by byte.
std::vector<int> CountBytes(const std::vector<StridedRegion>& regions, int64_t line_bytes) {
  std::vector<int> counts(static_cast<size_t>(line_bytes), 0);
  for (const StridedRegion& region : regions) {
    std::vector<int64_t> begins = {region.begin};
    for (const StridedRegion::Dim& dim : region.dims) {
      std::vector<int64_t> more;
      for (const int64_t begin : begins) {
        for (int64_t i = 0; i < dim.extent; ++i) more.push_back(begin + i * dim.stride_bytes);
      }
      begins = more;
    }
    for (const int64_t begin : begins) {
      for (int64_t i = 0; i < region.run_bytes; ++i) ++counts[static_cast<size_t>(begin + i)];
    }
  }
  return counts;
}

// Compares with counting; a fault must name a byte that is really wrong in that way.
void Compare(const std::vector<StridedRegion>& regions, int64_t line_bytes, bool allow_gaps) {
  const std::vector<int> counts = CountBytes(regions, line_bytes);
  bool right = true;
  for (const int count : counts) right = right && (count == 1 || (count == 0 && allow_gaps));
  const CoverResult result =
      CheckExactCover(regions, line_bytes, allow_gaps, [](uint64_t) { return true; });
  CHECK(!result.exhausted);
  CHECK(result.fault.has_value() == !right);
  if (!result.fault) return;
  const int count = counts[static_cast<size_t>(result.fault->byte)];
  if (result.fault->gap) {
    CHECK(count == 0);
  } else {
    CHECK(count > 1);
  }
}

// Cuts [0, line) into regions at random: rows dealt out, columns dealt out, or nothing.
void Deal(std::mt19937& random, const StridedRegion& whole, int depth,
          std::vector<StridedRegion>* out) {
  const auto below = [&random](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  if (depth == 0 || below(5) == 0) {
    out->push_back(whole);
    out->back().id = static_cast<uint32_t>(out->size());
    return;
  }
  // Split one run into `parts` equal runs, which become a dim, and deal those out.
  std::vector<int64_t> divisors;
  for (int64_t n = 2; n <= whole.run_bytes; ++n) {
    if (whole.run_bytes % n == 0) divisors.push_back(n);
  }
  if (divisors.empty()) {
    out->push_back(whole);
    out->back().id = static_cast<uint32_t>(out->size());
    return;
  }
  const int64_t extent =
      divisors[static_cast<size_t>(below(static_cast<int64_t>(divisors.size())))];
  const int64_t stride = whole.run_bytes / extent;
  StridedRegion part = whole;
  part.run_bytes = stride;
  switch (below(4)) {
    case 0: {  // two blocks
      const int64_t cut = 1 + below(extent - 1);
      part.dims = whole.dims;
      part.run_bytes = cut * stride;
      Deal(random, part, depth - 1, out);
      part.begin += cut * stride;
      part.run_bytes = (extent - cut) * stride;
      Deal(random, part, depth - 1, out);
      return;
    }
    case 1: {  // columns of every row
      if (stride < 2) break;
      const int64_t cut = 1 + below(stride - 1);
      part.dims.push_back({extent, stride});
      part.run_bytes = cut;
      Deal(random, part, depth - 1, out);
      part.begin += cut;
      part.run_bytes = stride - cut;
      Deal(random, part, depth - 1, out);
      return;
    }
    case 2: {  // every second row, each walked backwards
      if (extent % 2 != 0) break;
      for (int64_t odd = 0; odd < 2; ++odd) {
        StridedRegion half = part;
        half.begin += (extent - 2 + odd) * stride;
        half.dims.push_back({extent / 2, -2 * stride});
        Deal(random, half, depth - 1, out);
      }
      return;
    }
    default:
      break;
  }
  part = whole;
  part.run_bytes = stride;
  part.dims.insert(part.dims.begin() + below(static_cast<int64_t>(part.dims.size()) + 1),
                   {extent, stride});
  Deal(random, part, depth - 1, out);
}

TEST_CASE("covers found by hand") {
  Compare({{0, 10, {}, 0}}, 10, false);
  Compare({{0, 9, {}, 0}}, 10, false);
  Compare({{1, 9, {}, 0}}, 10, false);
  Compare({{1, 8, {}, 0}}, 10, true);
  Compare({{0, 6, {}, 0}, {5, 5, {}, 1}}, 10, false);
  Compare({}, 0, false);
  Compare({}, 3, false);
  // A gap and an overlap of the same size.
  Compare({{0, 4, {}, 0}, {2, 4, {}, 1}, {8, 2, {}, 2}}, 10, false);
  // A stride of zero, and a stride below the run.
  Compare({{0, 2, {{3, 0}}, 0}}, 6, false);
  Compare({{0, 2, {{3, 1}}, 0}}, 4, false);
  // {0, 2, 4, 3, 5, 7} and its complement in 8: rows that reach into each other.
  Compare({{0, 1, {{2, 3}, {3, 2}}, 0}, {1, 1, {{2, 5}}, 1}}, 8, false);
  // Groups of three and groups of two side by side: no common grid.
  Compare({{0, 1, {{3, 4}}, 0}, {1, 3, {{3, 4}}, 1}, {12, 1, {{2, 5}}, 2}, {13, 4, {{2, 5}}, 3}},
          22, false);
  // Rows that wrap around the end of a fold.
  Compare({{0, 2, {}, 0}, {2, 4, {{3, 8}}, 1}, {6, 4, {{3, 8}}, 2}}, 26, false);
}

TEST_CASE("random covers and their mutations agree with counting") {
  const unsigned seed = 20240611;
  CAPTURE(seed);
  std::mt19937 random(seed);
  int wrong = 0;
  for (int round = 0; round < 6000; ++round) {
    CAPTURE(round);
    const int64_t sizes[] = {24, 36, 60, 64, 96, 120, 128};
    const int64_t line = sizes[random() % 7];
    std::vector<StridedRegion> regions;
    Deal(random, {0, line, {}, 0}, 5, &regions);
    Compare(regions, line, false);
    // One number changes; regions that leave the line are not this function's to judge.
    StridedRegion& region = regions[random() % regions.size()];
    const int64_t change = random() % 2 == 0 ? 1 : -1;
    switch (random() % 4) {
      case 0:
        region.begin += change;
        break;
      case 1:
        region.run_bytes += change;
        break;
      case 2:
        if (region.dims.empty()) continue;
        region.dims[random() % region.dims.size()].extent += change;
        break;
      default:
        if (region.dims.empty()) continue;
        region.dims[random() % region.dims.size()].stride_bytes += change;
        break;
    }
    if (region.run_bytes < 1) continue;
    int64_t low = region.begin;
    int64_t high = region.begin + region.run_bytes;
    bool empty = false;
    for (const StridedRegion::Dim& dim : region.dims) {
      empty = empty || dim.extent < 1;
      (dim.stride_bytes < 0 ? low : high) += (dim.extent - 1) * dim.stride_bytes;
    }
    if (empty || low < 0 || high > line) continue;
    ++wrong;
    Compare(regions, line, false);
    Compare(regions, line, true);
  }
  CHECK(wrong > 1000);
}

TEST_CASE("large regular covers cost little, large irregular ones stop at the budget") {
  // 2^20 rows of 2^20 bytes, even and odd columns apart.
  const int64_t rows = int64_t{1} << 20;
  uint64_t steps = 0;
  const auto count = [&steps](uint64_t more) {
    steps += more;
    return true;
  };
  const std::vector<StridedRegion> columns = {{0, 1, {{rows, rows}, {rows / 2, 2}}, 0},
                                              {1, 1, {{rows, rows}, {rows / 2, 2}}, 1}};
  CHECK(!CheckExactCover(columns, rows * rows, false, count).fault.has_value());
  CHECK(steps < 1000);
  // Rows that reach into each other are listed one by one.
  // Regions that lie in each other like onion skins would need a fold each.
  std::vector<StridedRegion> onion;
  for (int64_t i = 0; i < 1000; ++i) onion.push_back({i, 1, {{2, 4000 - 2 * i}}, 0});
  CHECK(CheckExactCover(onion, 4001, true, count).exhausted);
  const std::vector<StridedRegion> knot = {{0, 1, {{rows, 3}, {rows, 2}}, 0}};
  CHECK(
      CheckExactCover(knot, 8 * rows, false, [](uint64_t more) { return more < 1000; }).exhausted);
}

}  // namespace
}  // namespace reshard
