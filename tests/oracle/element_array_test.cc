#include "tests/oracle/element_array.h"

#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using Ids = std::vector<int32_t>;
using Shape = std::vector<int64_t>;

TEST_CASE("operations on written-out arrays") {
  const ElementArray a = WholeArray(0, {2, 3});  // 0 1 2 / 3 4 5
  const ElementArray b = WholeArray(10, {2, 3});
  CHECK(SliceArray(a, 1, 0, 3, 2).ids == Ids{0, 2, 3, 5});
  CHECK(SliceArray(a, 0, 1, 1).shape == Shape{0, 3});
  CHECK(IndexArray(a, 1, 2).ids == Ids{2, 5});
  CHECK(IndexArray(a, 1, 2).shape == Shape{2});
  CHECK(CatArrays({a, b}, 1).ids == Ids{0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15});
  CHECK(StackArrays({a, b}, 1).shape == Shape{2, 2, 3});
  CHECK(StackArrays({a, b}, 1).ids == CatArrays({a, b}, 1).ids);
  CHECK(GroupCatArrays({a, b}, 0, 2).ids == Ids{0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15});
  CHECK(PadArray(a, 1, 4, ElementArray::kZero).ids == Ids{0, 1, 2, -1, 3, 4, 5, -1});
  CHECK(PermuteArray(a, {1, 0}).ids == Ids{0, 3, 1, 4, 2, 5});
  CHECK(PermuteArray(a, {1, 0}).shape == Shape{3, 2});
  CHECK(ReshapeArray(a, {3, 2}).ids == a.ids);
  CHECK(WholeArray(7, {}).ids == Ids{7});
}

TEST_CASE("a part of a tensor is what slicing it gives") {
  const ElementArray a = WholeArray(0, {3, 4, 5});
  const ElementArray part = PartOfArray({3, 4, 5}, {1, 0, 2}, {3, 2, 5});
  const ElementArray sliced = SliceArray(SliceArray(SliceArray(a, 0, 1, 3), 1, 0, 2), 2, 2, 5);
  CHECK(part.ids == sliced.ids);
  CHECK(part.shape == sliced.shape);
  CHECK(PartOfArray({}, {}, {}).ids == Ids{0});
  CHECK(PartOfArray({3, 2}, {1, 2}, {2, 2}).ids == Ids{});
}

TEST_CASE("parts") {
  const ElementArray a = WholeArray(0, {5});
  CHECK(ChunkArray(a, 0, 4, 1).ids == Ids{2, 3});
  CHECK(ChunkArray(a, 0, 4, 2).ids == Ids{4});
  CHECK(ChunkArray(a, 0, 4, 3).ids == Ids{});
  CHECK(BalancedPart(a, 0, 1, 3, 0).ids == Ids{0, 1});
  CHECK(BalancedPart(a, 0, 1, 3, 1).ids == Ids{2, 3});
  CHECK(BalancedPart(a, 0, 1, 3, 2).ids == Ids{4});
  CHECK(BalancedPart(WholeArray(0, {6}), 0, 2, 2, 1).ids == Ids{4, 5});
}

}  // namespace
}  // namespace reshard
