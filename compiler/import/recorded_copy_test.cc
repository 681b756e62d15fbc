#include "compiler/import/recorded_copy.h"

#include <cstddef>
#include <map>
#include <utility>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using Map = std::map<int64_t, int64_t>;  // element of the param -> element of the tensor

// Element by element, outermost first.
void AddView(const StridedView& src, const StridedView& dst, size_t dim, int64_t from, int64_t to,
             Map* map) {
  if (dim == src.shape.size()) {
    (*map)[to] = from;
    return;
  }
  for (int64_t i = 0; i < src.shape[dim]; ++i) {
    AddView(src, dst, dim + 1, from + i * src.stride[dim], to + i * dst.stride[dim], map);
  }
}

int64_t Flat(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

// Every element of the piece, counted through all dims of the param.
void AddPiece(const CopyPiece& piece, const std::vector<int64_t>& src_shape,
              const std::vector<int64_t>& dst_shape, Map* map) {
  std::vector<int64_t> at(dst_shape.size(), 0);
  for (;;) {
    std::vector<int64_t> src(src_shape.size());
    std::vector<int64_t> dst(dst_shape.size());
    for (size_t d = 0; d < src.size(); ++d) src[d] = piece.src[d].start;
    for (size_t d = 0; d < dst.size(); ++d) {
      dst[d] = piece.dst[d].start + at[d];
      if (piece.dims[d] < 0) continue;
      const size_t walked = static_cast<size_t>(piece.dims[d]);
      src[walked] = piece.src[walked].start + at[d] * piece.src[walked].step;
    }
    REQUIRE(map->emplace(Flat(dst, dst_shape), Flat(src, src_shape)).second);
    size_t d = dst.size();
    while (d > 0 && ++at[d - 1] == piece.dst[d - 1].length) at[--d] = 0;
    if (d == 0) return;
  }
}

// The number of pieces, after comparing all elements.
size_t Check(const StridedView& src, const std::vector<int64_t>& src_shape, const StridedView& dst,
             const std::vector<int64_t>& dst_shape) {
  const CutResult cut = CutCopy(src, src_shape, dst, dst_shape, 1000);
  REQUIRE(cut.error == CutError::kNone);
  Map expected;
  AddView(src, dst, 0, src.offset, dst.offset, &expected);
  Map found;
  for (const CopyPiece& piece : cut.pieces) AddPiece(piece, src_shape, dst_shape, &found);
  CHECK(found == expected);
  return cut.pieces.size();
}

TEST_CASE("a block of rows into the middle of a param is one piece") {
  CHECK(Check({12, {2, 6}, {6, 1}}, {4, 6}, {24, {2, 6}, {6, 1}}, {8, 6}) == 1);
}

TEST_CASE("a transposed block, with rows left out") {
  CHECK(Check({1, {3, 2}, {1, 12}}, {4, 6}, {0, {3, 2}, {2, 1}}, {3, 2}) == 1);
}

TEST_CASE("an expert of a stack, and a dim of one element") {
  CHECK(Check({0, {4, 6}, {6, 1}}, {4, 6}, {48, {4, 6}, {6, 1}}, {3, 4, 6}) == 1);
  CHECK(Check({5, {1, 6}, {9, 6}}, {6, 6}, {0, {1, 6}, {1, 1}}, {6}) == 1);
}

TEST_CASE("a flat copy is cut where rows end") {
  CHECK(Check({0, {24}, {1}}, {4, 6}, {0, {24}, {1}}, {24}) == 4);
  CHECK(Check({0, {24}, {1}}, {4, 6}, {0, {24}, {1}}, {4, 6}) == 4);
  CHECK(Check({3, {6}, {1}}, {4, 6}, {0, {6}, {1}}, {6}) == 2);
}

TEST_CASE("one element for many, and every second row of the param") {
  CHECK(Check({7, {5}, {0}}, {4, 6}, {0, {5}, {1}}, {5}) == 5);
  CHECK(Check({0, {2, 6}, {6, 1}}, {4, 6}, {0, {2, 6}, {12, 1}}, {4, 6}) == 2);
}

TEST_CASE("a walk of any length is cut at once, or is too many pieces") {
  const int64_t row = int64_t{1} << 54;
  const StridedView all = {0, {2 * row}, {1}};
  CHECK(CutCopy(all, {2, row}, all, {2, row}, 10).pieces.size() == 2);
  // A prime number of elements that begins inside a row can only be cut into elements.
  // element.
  const int64_t prime = 36'028'797'018'963'913;  // below 2^55
  CHECK(CutCopy({1, {prime}, {1}}, {2, prime}, {0, {prime}, {1}}, {prime}, 1000).error ==
        CutError::kTooMany);
}

CutError ErrorOf(const StridedView& src, const StridedView& dst, int64_t max_pieces = 10) {
  return CutCopy(src, {4, 6}, dst, {24}, max_pieces).error;
}

TEST_CASE("what cannot be cut") {
  const StridedView all = {0, {24}, {1}};
  CHECK(ErrorOf(all, all) == CutError::kNone);
  CHECK(ErrorOf(all, all, 3) == CutError::kTooMany);                    // 4 pieces
  CHECK(ErrorOf({20, {6}, {1}}, {0, {6}, {1}}) == CutError::kNoBoxes);  // leaves the tensor
  CHECK(ErrorOf({0, {7}, {1}}, {20, {7}, {1}}) == CutError::kNoBoxes);  // leaves the param
  CHECK(ErrorOf({0, {6}, {1}}, {0, {2, 3}, {3, 1}}) == CutError::kNoBoxes);
  CHECK(ErrorOf({INT64_MAX, {2}, {1}}, {0, {2}, {1}}) == CutError::kNoBoxes);
  CHECK(ErrorOf({0, {3}, {INT64_MAX}}, {0, {3}, {1}}) == CutError::kNoBoxes);
  CHECK(CutCopy({0, {0, 6}, {6, 1}}, {4, 6}, {0, {0, 6}, {6, 1}}, {24}, 10).pieces.empty());
}

}  // namespace
}  // namespace reshard
