#include "compiler/import/written_pieces.h"

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "doctest/doctest.h"

namespace reshard {
namespace {

constexpr int64_t kRows = 6, kColumns = 7;
using Element = std::pair<std::string, int64_t>;  // of a tensor of 20 columns
using Held = std::map<int64_t, Element>;

// Every element of the piece; false when one of them is there already.
bool AddElements(const ExplicitPiece& piece, Held* held) {
  const CopyPiece& box = piece.box;
  bool fresh = true;
  for (int64_t i = 0; i < box.dst[0].length; ++i) {
    for (int64_t k = 0; k < box.dst[1].length; ++k) {
      const int64_t at[] = {i, k};
      int64_t src[] = {box.src[0].start, box.src[1].start};
      for (size_t d = 0; d < 2; ++d) {
        if (box.dims[d] < 0) continue;
        const size_t walked = static_cast<size_t>(box.dims[d]);
        CHECK(box.src[walked].length == box.dst[d].length);
        src[walked] += at[d] * box.src[walked].step;
      }
      const int64_t to = (box.dst[0].start + i) * kColumns + box.dst[1].start + k;
      fresh =
          held->insert_or_assign(to, Element{piece.tensor, src[0] * 20 + src[1]}).second && fresh;
    }
  }
  return fresh;
}

TEST_CASE("the last copy of each element is what is left, in boxes that do not overlap") {
  std::mt19937 random(7);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  for (int round = 0; round < 300; ++round) {
    WrittenPieces written({kRows, kColumns});
    Held expected;
    int64_t steps = 1'000'000;
    for (int64_t copy = 0; copy < 6; ++copy) {
      const int64_t row = below(kRows), column = below(kColumns);
      const int64_t rows = 1 + below(kRows - row), columns = 1 + below(kColumns - column);
      const bool turned = below(2) == 1;
      const size_t along = turned ? 1 : 0;
      ExplicitPiece piece;
      piece.tensor = "t" + std::to_string(copy);
      piece.box.dst = {{row, rows, 1}, {column, columns, 1}};
      piece.box.src.resize(2);
      piece.box.src[along] = {below(3), rows, rows > 1 ? 1 + below(2) : 1};
      piece.box.src[1 - along] = {below(3), columns, columns > 1 ? 1 + below(2) : 1};
      piece.box.dims = {rows > 1 ? static_cast<int64_t>(along) : -1,
                        columns > 1 ? static_cast<int64_t>(1 - along) : -1};
      REQUIRE(written.Write(piece.tensor, piece.box, copy, &steps) == WriteError::kNone);
      AddElements(piece, &expected);
    }
    Held found;
    const std::vector<ExplicitPiece> pieces = written.Pieces();
    CHECK(written.piece_count() == static_cast<int64_t>(pieces.size()));
    for (const ExplicitPiece& piece : pieces) CHECK(AddElements(piece, &found));
    CHECK(found == expected);
  }
}

CopyPiece Row(int64_t row) { return {{{row, 1, 1}}, {{row, 1, 1}}, {-1}}; }

TEST_CASE("a copy that writes an element twice, and steps that run out") {
  WrittenPieces written({4});
  int64_t steps = 3;
  CHECK(written.Write("a", Row(1), 0, &steps) == WriteError::kNone);
  CHECK(written.Write("a", Row(1), 0, &steps) == WriteError::kTwice);
  CHECK(written.Write("b", Row(1), 1, &steps) == WriteError::kNone);
  CHECK(written.piece_count() == 1);
  CHECK(written.Write("b", Row(1), 2, &steps) == WriteError::kNone);
  CHECK(written.Write("b", Row(1), 3, &steps) == WriteError::kTooLong);
  CHECK(WrittenPieces({}).Pieces().empty());
}

}  // namespace
}  // namespace reshard
