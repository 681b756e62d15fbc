#include "compiler/transfer/overlap_pairs.h"

#include <cstdint>
#include <random>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

uint32_t Below(std::mt19937* random, uint32_t end) {
  return static_cast<uint32_t>((*random)() % end);
}

BoxList RandomBoxes(uint32_t count, size_t dim_count, uint32_t side, uint32_t largest,
                    std::mt19937* random) {
  BoxList list(dim_count);
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<BoxDim> box;
    for (size_t d = 0; d < dim_count; ++d) {
      box.push_back({Below(random, side), 1 + Below(random, largest)});
    }
    list.Add(box);
  }
  return list;
}

// Point by point along each dim, with no comparison of ends.
bool SharePoint(BoxView a, BoxView b) {
  for (size_t d = 0; d < a.size(); ++d) {
    bool any = false;
    for (int64_t x = a[d].begin; x < a[d].begin + a[d].extent; ++x) {
      any = any || (x >= b[d].begin && x < b[d].begin + b[d].extent);
    }
    if (!any) return false;
  }
  return true;
}

TEST_CASE("random lists of many sizes, against all pairs") {
  constexpr uint32_t kSeed = 11;
  for (uint32_t round = 0; round < 60; ++round) {
    std::mt19937 random(kSeed + round);
    const size_t dim_count = 1 + Below(&random, 3);
    const uint32_t side = 1 + Below(&random, 60);
    const uint32_t largest = 1 + Below(&random, 6);
    const BoxList a = RandomBoxes(1 + Below(&random, 60), dim_count, side, largest, &random);
    const BoxList b = RandomBoxes(1 + Below(&random, 60), dim_count, side, largest, &random);
    std::vector<BoxPair> expected;
    for (uint32_t i = 0; i < a.count(); ++i) {
      for (uint32_t j = 0; j < b.count(); ++j) {
        if (SharePoint(a[i], b[j])) expected.emplace_back(i, j);
      }
    }
    WorkBudget budget(1'000'000);
    std::vector<BoxPair> pairs;
    REQUIRE(OverlappingPairs(a, b, &budget, &pairs));
    INFO("seed ", kSeed + round);
    CHECK(pairs == expected);
  }
}

TEST_CASE("two grids of 4096 boxes cost far less than all 16 million pairs") {
  BoxList a(2), b(2);
  for (int64_t x = 0; x < 64; ++x) {
    for (int64_t y = 0; y < 64; ++y) {
      const std::vector<BoxDim> fine = {{61 * x, 61}, {61 * y, 61}};
      a.Add(fine);
      const std::vector<BoxDim> other = {{59 * x, 59}, {59 * y, 59}};
      b.Add(other);
    }
  }
  WorkBudget budget(1'000'000);
  std::vector<BoxPair> pairs;
  REQUIRE(OverlappingPairs(a, b, &budget, &pairs));
  // Along one dim each box of b but the first reaches over two boxes of a, as 61 > 59.
  size_t along = 0;
  for (int64_t x = 0; x < 64; ++x) {
    for (int64_t y = 0; y < 64; ++y) {
      along += 61 * x < 59 * y + 59 && 59 * y < 61 * x + 61 ? 1 : 0;
    }
  }
  CHECK(pairs.size() == along * along);
}

TEST_CASE("lists without boxes, and boxes without dims") {
  WorkBudget budget(100);
  std::vector<BoxPair> pairs = {{1, 1}};
  REQUIRE(OverlappingPairs(BoxList(2), BoxList(2), &budget, &pairs));
  CHECK(pairs.empty());
  BoxList point(0);
  point.Add({});
  REQUIRE(OverlappingPairs(point, point, &budget, &pairs));
  CHECK(pairs.size() == 1);
}

}  // namespace
}  // namespace reshard
