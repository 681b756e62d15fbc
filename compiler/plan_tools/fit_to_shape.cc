// FitToShape: from one linear space to the dims of a shape.

#include <algorithm>
#include <utility>

#include "compiler/plan_tools/naive_view.h"
#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

class Fitter {
 public:
  Fitter(const std::vector<int64_t>& shape, size_t max_pieces, std::vector<NaivePiece>* out)
      : shape_(shape), unit_(shape.size(), 1), max_pieces_(max_pieces), out_(out) {
    for (size_t d = unit_.size(); d-- > 1;) unit_[d - 1] = unit_[d] * shape_[d];
  }

  bool Run(LinearPiece piece) {
    size_t made = 0;
    todo_.push_back(std::move(piece));
    while (!todo_.empty()) {
      LinearPiece next = std::move(todo_.back());
      todo_.pop_back();
      if (++made > max_pieces_) return false;
      FitOrCut(std::move(next));
    }
    return true;
  }

 private:
  // The outermost dim whose unit the stride reaches; dims of extent 1 cannot be moved along.
  size_t DimOf(int64_t stride) const {
    size_t d = 0;
    while (d + 1 < shape_.size() && (shape_[d] == 1 || unit_[d] > stride)) ++d;
    return d;
  }

  void FitOrCut(LinearPiece piece) {
    NaivePiece fitted;
    fitted.at.resize(shape_.size());
    int64_t rest = piece.base;
    for (size_t d = 0; d < shape_.size(); ++d) {
      fitted.at[d] = rest / unit_[d];
      rest %= unit_[d];
    }
    std::vector<int64_t> reach = fitted.at;
    for (size_t i = 0; i < piece.digits.size(); ++i) {
      const LinearPiece::Digit& digit = piece.digits[i];
      const size_t d = DimOf(digit.stride);
      if (digit.stride % unit_[d] != 0) return CutToCounts(std::move(piece), i);
      const int64_t step = digit.stride / unit_[d];
      reach[d] += (digit.extent - 1) * step;
      fitted.digits.push_back(
          {digit.extent, static_cast<uint32_t>(d), step, digit.axis, digit.tensor_step});
    }
    for (size_t d = shape_.size(); d-- > 0;) {
      if (reach[d] < shape_[d]) continue;
      size_t widest = piece.digits.size();
      for (size_t i = 0; i < piece.digits.size(); ++i) {
        if (fitted.digits[i].dim != d) continue;
        if (widest == piece.digits.size() || piece.digits[i].stride > piece.digits[widest].stride) {
          widest = i;
        }
      }
      return CutAtRows(std::move(piece), widest, unit_[d] * shape_[d]);
    }
    fitted.from = std::move(piece.from);
    out_->push_back(std::move(fitted));
  }

  // Digit `index` leaves its row of `row` elements: cuts it into the counts before the first row's
  // end, whole rows where all are alike, and what is left.
  void CutAtRows(LinearPiece piece, size_t index, int64_t row) {
    const LinearPiece::Digit digit = piece.digits[index];
    const int64_t head = *CheckedCeilDiv(row - piece.base % row, digit.stride);
    // Only together with other digits does it leave the row.
    if (head >= digit.extent) return CutToCounts(std::move(piece), index);
    const int64_t per_row = row / digit.stride;
    const int64_t rows = row % digit.stride == 0 ? (digit.extent - head) / per_row : 0;
    const bool starts_a_row = head == per_row && rows * per_row + head == digit.extent;
    if (starts_a_row && piece.base % row < digit.stride) {
      // Whole rows from the start on: no head is needed.
      return PushRows(piece, index, 0, rows + 1, per_row, row);
    }
    PushCounts(piece, index, 0, head);
    if (rows > 0) PushRows(piece, index, head, rows, per_row, row);
    PushCounts(piece, index, head + rows * per_row, digit.extent);
  }

  void PushCounts(const LinearPiece& piece, size_t index, int64_t first, int64_t last) {
    if (first >= last) return;
    LinearPiece part = piece;
    Advance(index, first, &part);
    part.digits[index].extent = last - first;
    if (last - first == 1) Erase(index, &part);
    todo_.push_back(std::move(part));
  }

  void PushRows(const LinearPiece& piece, size_t index, int64_t first, int64_t rows,
                int64_t per_row, int64_t row) {
    LinearPiece part = piece;
    Advance(index, first, &part);
    LinearPiece::Digit& inner = part.digits[index];
    inner.extent = per_row;
    const LinearPiece::Digit outer = {rows, row, inner.axis, inner.tensor_step * per_row};
    if (per_row == 1) Erase(index, &part);
    if (rows > 1) part.digits.push_back(outer);
    todo_.push_back(std::move(part));
  }

  void CutToCounts(LinearPiece piece, size_t index) {
    // Their number is charged as they are taken up again; a bound here keeps memory in bounds too.
    const int64_t extent = piece.digits[index].extent;
    const auto room = static_cast<int64_t>(std::min<size_t>(max_pieces_, INT64_MAX - 1)) + 1;
    for (int64_t k = 0; k < std::min(extent, room); ++k) PushCounts(piece, index, k, k + 1);
  }

  static void Advance(size_t index, int64_t count, LinearPiece* piece) {
    const LinearPiece::Digit& digit = piece->digits[index];
    piece->base += count * digit.stride;
    if (!piece->from.empty()) piece->from[digit.axis] += count * digit.tensor_step;
  }
  static void Erase(size_t index, LinearPiece* piece) {
    piece->digits.erase(piece->digits.begin() + static_cast<std::ptrdiff_t>(index));
  }

  const std::vector<int64_t>& shape_;
  std::vector<int64_t> unit_;
  size_t max_pieces_;
  std::vector<NaivePiece>* out_;
  std::vector<LinearPiece> todo_;
};

}  // namespace

bool FitToShape(LinearPiece piece, const std::vector<int64_t>& shape, size_t max_pieces,
                std::vector<NaivePiece>* out) {
  return Fitter(shape, max_pieces, out).Run(std::move(piece));
}

}  // namespace reshard
