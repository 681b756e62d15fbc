#include "compiler/transfer/refine.h"

#include <cstdint>
#include <vector>

#include "compiler/transfer/box.h"
#include "compiler/transfer/testing/test_layouts.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

using Weights = std::vector<int64_t>;

// How many boxes a one-axis place becomes.
size_t BoxCount(const PlaceAxis& axis, const Weights& weights) {
  Place place;
  place.axes = {axis};
  WorkBudget budget(1'000'000);
  std::vector<BoxPlace> boxes;
  REQUIRE(RefinePlace(place, {weights}, Side::kSource, &budget, &boxes));
  return boxes.size();
}

TEST_CASE("weights divide each other and keep the steps that occur most") {
  CHECK(ChooseWeights({}, 100) == Weights{1});
  CHECK(ChooseWeights({1, 1}, 100) == Weights{1});
  CHECK(ChooseWeights({16, 1, 128}, 1024) == Weights{128, 16, 1});
  // 2 and 3 do not divide each other: the more frequent one stays, and 6 helps the other.
  CHECK(ChooseWeights({2, 3, 3}, 100) == Weights{6, 3, 1});
  CHECK(ChooseWeights({2, 3, 2}, 100) == Weights{6, 2, 1});
  // No multiple below the axis' end.
  CHECK(ChooseWeights({7, 9, 9}, 60) == Weights{9, 1});
}

TEST_CASE("a step that has its weight is one box, a range at most three") {
  CHECK(BoxCount({2, {{8, 4, 1, 0}}}, {4, 1}) == 1);
  CHECK(BoxCount({0, {{8, 16, 64, 0}, {4, 1, 1, 0}}}, {16, 1}) == 1);
  for (int64_t begin = 0; begin < 40; ++begin) {
    for (int64_t extent = 1; begin + extent <= 40; ++extent) {
      const int64_t head = (4 - begin % 4) % 4;
      const int64_t blocks = extent > head ? (extent - head) / 4 : 0;
      const int64_t tail = extent > head ? (extent - head) % 4 : 0;
      const size_t expected = static_cast<size_t>((head > 0) + (blocks > 0) + (tail > 0));
      CHECK(BoxCount(TestRange(begin, extent), {4, 1}) == expected);
    }
  }
}

TEST_CASE("a step of 3 on weights 6 and 2 is two boxes") {
  CHECK(BoxCount({0, {{10, 3, 1, 0}}}, {6, 2, 1}) == 2);
}

TEST_CASE("digits that continue each other are one") {
  const std::vector<PlaceDigit> joined = NormalDigits({0, {{8, 1, 2, 0}, {4, 8, 16, 0}}});
  REQUIRE(joined.size() == 1);
  CHECK(joined[0].extent == 32);
  CHECK(joined[0].step == 1);
  // The strides do not: two digits, the larger step first.
  const std::vector<PlaceDigit> apart =
      NormalDigits({0, {{8, 1, 8, 0}, {4, 8, 1, 0}, {1, 99, 0, 0}}});
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].step == 8);
}

TEST_CASE("the budget ends a place that would fall into too many boxes") {
  Place place;
  place.axes = {{0, {{1000, 7, 1, 0}}}};
  WorkBudget budget(100);
  std::vector<BoxPlace> boxes;
  CHECK_FALSE(RefinePlace(place, {{1}}, Side::kSource, &budget, &boxes));
}

}  // namespace
}  // namespace reshard
