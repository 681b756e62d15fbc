#include "compiler/transfer/partition.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

uint32_t Below(std::mt19937* random, uint32_t end) {
  return static_cast<uint32_t>((*random)() % end);
}

BoxList Boxes(size_t dim_count, const std::vector<std::vector<BoxDim>>& boxes) {
  BoxList list(dim_count);
  for (const std::vector<BoxDim>& box : boxes) list.Add(box);
  return list;
}

// The boxes of `list` that cover each point of a square of side `side`.
std::vector<std::vector<uint32_t>> CoversByPoint(const BoxList& list, int64_t side) {
  std::vector<std::vector<uint32_t>> covers;
  for (int64_t x = 0; x < side; ++x) {
    for (int64_t y = 0; y < side; ++y) {
      std::vector<uint32_t> cover;
      for (uint32_t box = 0; box < list.count(); ++box) {
        if (x >= list[box][0].begin && x < list[box][0].end() && y >= list[box][1].begin &&
            y < list[box][1].end()) {
          cover.push_back(box);
        }
      }
      covers.push_back(cover);
    }
  }
  return covers;
}

TEST_CASE("random boxes: each point is in one atom, which has the point's cover") {
  constexpr uint32_t kSeed = 7;
  for (uint32_t round = 0; round < 500; ++round) {
    std::mt19937 random(kSeed + round);
    const uint32_t count = Below(&random, round % 50 == 0 ? 100 : 8) + 1;
    BoxList list(2);
    for (uint32_t i = 0; i < count; ++i) {
      std::vector<BoxDim> box;
      for (int d = 0; d < 2; ++d) {
        const uint32_t begin = Below(&random, 10);
        box.push_back({begin, 1 + Below(&random, 11 - begin)});
      }
      list.Add(box);
    }
    WorkBudget budget(1'000'000);
    Partition partition;
    REQUIRE(PartitionBoxes(list, &budget, &partition));
    const auto expected = CoversByPoint(list, 12);
    const auto atoms = CoversByPoint(partition.atoms, 12);
    bool ok = true;
    for (size_t point = 0; point < expected.size(); ++point) {
      ok = ok && atoms[point].size() == (expected[point].empty() ? 0 : 1);
      if (ok && !expected[point].empty()) {
        ok = partition.Cover(atoms[point][0]) == expected[point];
      }
    }
    INFO("seed ", kSeed + round);
    CHECK(ok);
  }
}

TEST_CASE("disjoint boxes stay whole, also where no plane separates them") {
  // A pinwheel.
  const BoxList list = Boxes(
      2,
      {{{0, 2}, {0, 1}}, {{2, 1}, {0, 2}}, {{1, 2}, {2, 1}}, {{0, 1}, {1, 2}}, {{1, 1}, {1, 1}}});
  WorkBudget budget(1'000'000);
  Partition partition;
  REQUIRE(PartitionBoxes(list, &budget, &partition));
  CHECK(partition.atoms.count() == 5);
  CHECK_FALSE(partition.any_cut);
}

TEST_CASE("a grid costs work in proportion to its boxes") {
  BoxList list(2);
  for (int64_t x = 0; x < 64; ++x) {
    for (int64_t y = 0; y < 64; ++y) {
      const std::vector<BoxDim> box = {{3 * x, 3}, {5 * y, 5}};
      list.Add(box);
    }
  }
  WorkBudget budget(4 * 64 * 64);
  Partition partition;
  REQUIRE(PartitionBoxes(list, &budget, &partition));
  CHECK(partition.atoms.count() == 64 * 64);
}

TEST_CASE("overlapping runs of one dim are cut in n log n") {
  BoxList list(1);
  for (int64_t i = 0; i < 5000; ++i) {
    const std::vector<BoxDim> box = {{2 * i, 3}};
    list.Add(box);
  }
  WorkBudget budget(5000 * 40);
  Partition partition;
  REQUIRE(PartitionBoxes(list, &budget, &partition));
  CHECK(partition.atoms.count() == 5000 + 4999);
  CHECK(partition.any_cut);
}

TEST_CASE("the budget ends it") {
  WorkBudget budget(3);
  Partition partition;
  CHECK_FALSE(PartitionBoxes(Boxes(1, {{{0, 4}}, {{2, 4}}, {{3, 9}}}), &budget, &partition));
}

TEST_CASE("without dims every box is the same point") {
  WorkBudget budget(100);
  Partition partition;
  REQUIRE(PartitionBoxes(Boxes(0, {{}, {}}), &budget, &partition));
  CHECK(partition.atoms.count() == 1);
  CHECK(partition.Cover(0) == std::vector<uint32_t>{0, 1});
}

}  // namespace
}  // namespace reshard
