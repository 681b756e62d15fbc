// Views keep maps as nests of digits: the operations, counted in pieces. (That the maps are right
// is tested element by element in tests/property.)

#include "compiler/layout/view.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

View Tensor(SuperId super, const std::vector<int64_t>& shape) {
  View view;
  view.shape = shape;
  ViewPiece piece;
  piece.super = super;
  piece.at.assign(shape.size(), 0);
  piece.begin.assign(shape.size(), 0);
  for (uint32_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) piece.digits.push_back({shape[d], d, 1, static_cast<int32_t>(d), 1});
  }
  view.pieces.push_back(piece);
  return view;
}

TEST_CASE("interleaving row by row takes one piece per input") {
  PieceBudget budget{1000};
  View view = InterleaveViews({Tensor(0, {2880, 64}), Tensor(1, {2880, 64})}, 0, 2880, &budget);
  CHECK(view.shape == std::vector<int64_t>{5760, 64});
  REQUIRE(view.pieces.size() == 2);
  CHECK(view.pieces[1].at[0] == 1);
  CHECK(view.pieces[1].digits[1].dim_step + view.pieces[1].digits[0].dim_step == 2 + 1);
  // A cut keeps that.
  CHECK(SliceView(view, 0, 720, 1440, 1, &budget).pieces.size() == 2);
}

TEST_CASE("QKV of 4 KV groups: a piece per input, cut by two ranks") {
  PieceBudget budget{1000};
  const View view = InterleaveViews(
      {Tensor(0, {8192, 16}), Tensor(1, {512, 16}), Tensor(2, {512, 16})}, 0, 4, &budget);
  CHECK(view.pieces.size() == 3);
  CHECK(SliceView(view, 0, 4608, 9216, 1, &budget).pieces.size() == 3);
  // Cut inside a group of 2304: the q part is broken once.
  CHECK(SliceView(view, 0, 0, 3000, 1, &budget).pieces.size() == 4);
}

TEST_CASE("steps that hit one residue of an interleaving choose one input") {
  PieceBudget budget{1000};
  const View view = InterleaveViews({Tensor(0, {600, 2}), Tensor(1, {600, 2})}, 0, 600, &budget);
  const View even = SliceView(view, 0, 1, 1200, 2, &budget);
  REQUIRE(even.pieces.size() == 1);
  CHECK(even.pieces[0].super == 1);
  CHECK(even.shape[0] == 600);
}

TEST_CASE("a huge step costs nothing") {
  PieceBudget budget{100};
  const int64_t extent = int64_t{1} << 40;
  const View view = SliceView(Tensor(0, {extent}), 0, 5, extent, 999'999'937, &budget);
  REQUIRE(view.pieces.size() == 1);
  CHECK(view.pieces[0].begin[0] == 5);
  CHECK(view.pieces[0].digits[0].axis_step == 999'999'937);
  CHECK(view.pieces[0].digits[0].extent == view.shape[0]);
}

TEST_CASE("reshapes split and join without new pieces where boundaries allow it") {
  PieceBudget budget{1000};
  const View heads = ReshapeView(Tensor(0, {64 * 128, 32}), {64, 2, 64, 32}, &budget);
  REQUIRE(heads.pieces.size() == 1);
  View back = ReshapeView(heads, {8192, 32}, &budget);
  REQUIRE(back.pieces.size() == 1);
  MergePieces(&back);
  CHECK(back.pieces[0].digits == Tensor(0, {8192, 32}).pieces[0].digits);
  CHECK(ReshapeView(Tensor(0, {12, 10}), {8, 15}, &budget).pieces.size() > 1);
}

TEST_CASE("pieces that continue each other become one") {
  PieceBudget budget{1000};
  const View whole = Tensor(0, {100, 8});
  std::vector<View> rows;
  for (int64_t i = 0; i < 100; ++i) rows.push_back(SliceView(whole, 0, i, i + 1, 1, &budget));
  View view = ConcatViews(rows, 0, &budget);
  CHECK(view.pieces.size() == 100);
  MergePieces(&view);
  REQUIRE(view.pieces.size() == 1);
  CHECK(view.pieces[0].digits == whole.pieces[0].digits);
  // Every third row, twice over: a digit for each.
  rows.clear();
  for (int64_t i = 0; i < 99; i += 3) rows.push_back(SliceView(whole, 0, i, i + 1, 1, &budget));
  for (int64_t i = 0; i < 99; i += 3) rows.push_back(SliceView(whole, 0, i, i + 1, 1, &budget));
  view = ConcatViews(rows, 0, &budget);
  MergePieces(&view);
  CHECK(view.pieces.size() == 1);
  CHECK(view.pieces[0].digits.size() == 3);
}

TEST_CASE("a spent budget ends every operation") {
  PieceBudget budget{10};
  const View view =
      InterleaveViews({Tensor(0, {7 * 1000, 3}), Tensor(1, {1000, 3})}, 0, 1000, &budget);
  const View odd = SliceView(ReshapeView(view, {3, 8000}, &budget), 1, 0, 7999, 13, &budget);
  CHECK(budget.exhausted());
  CHECK(odd.pieces.size() < 20);
}

}  // namespace
}  // namespace reshard
