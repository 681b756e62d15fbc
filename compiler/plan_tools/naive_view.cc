#include "compiler/plan_tools/naive_view.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "runtime/base/checked_math.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

// Parts that a reshape may cut one piece into.
constexpr int64_t kMaxCuts = 1 << 20;

int64_t FloorDiv(int64_t a, int64_t b) { return *CheckedFloorDiv(a, b); }
int64_t CeilDiv(int64_t a, int64_t b) { return *CheckedCeilDiv(a, b); }

bool IsEmpty(const std::vector<int64_t>& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

void EraseDigit(size_t index, NaivePiece* piece) {
  piece->digits.erase(piece->digits.begin() + static_cast<std::ptrdiff_t>(index));
}

// Keeps only count `k` of digit `index`.
void FixDigit(size_t index, int64_t k, NaivePiece* piece) {
  const NaiveDigit digit = piece->digits[index];
  piece->at[digit.dim] += k * digit.step;
  if (!piece->from.empty()) piece->from[digit.axis] += k * digit.tensor_step;
  EraseDigit(index, piece);
}

}  // namespace

int64_t NaivePiece::element_count() const {
  int64_t count = 1;
  for (const NaiveDigit& digit : digits) count *= digit.extent;
  return count;
}

int64_t NaiveView::element_count() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return IsEmpty(shape) ? 0 : count;
}

bool NaiveOps::Fail(std::string text) {
  if (error_.empty()) error_ = std::move(text);
  return false;
}

bool NaiveOps::Charge(size_t pieces) {
  budget_ -= static_cast<int64_t>(pieces);
  return budget_ >= 0 || Fail("a param has too many pieces to interpret them one by one");
}

bool NaiveOps::CheckShape(const std::vector<int64_t>& shape) {
  for (const int64_t extent : shape) {
    if (extent < 0) return Fail("shape " + ListText(shape) + " has a negative extent");
  }
  const std::optional<int64_t> count = CheckedProduct(std::span<const int64_t>(shape));
  // Room for the bytes of any dtype.
  if (!count || *count > std::numeric_limits<int64_t>::max() / 16) {
    return Fail("shape " + ListText(shape) + " has too many elements");
  }
  return true;
}

bool NaiveOps::Whole(uint32_t tensor, const std::vector<int64_t>& shape, DType dtype,
                     NaiveView* out) {
  if (!CheckShape(shape) || !Charge(1)) return false;
  out->shape = shape;
  out->dtype = dtype;
  out->pieces.clear();
  if (IsEmpty(shape)) return true;
  NaivePiece& piece = out->pieces.emplace_back();
  piece.tensor = tensor;
  piece.at.assign(shape.size(), 0);
  if (!IsNaiveFill(tensor)) piece.from.assign(shape.size(), 0);
  for (uint32_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) piece.digits.push_back({shape[d], d, 1, d, 1});
  }
  return true;
}

// Keeps of `piece` what lies at start, start + step, ... below stop along `dim`, renumbered.
void NaiveOps::SlicePiece(size_t dim, int64_t start, int64_t stop, int64_t step, NaivePiece piece,
                          std::vector<NaivePiece>* out) {
  size_t along = 0;  // digits along `dim`, and the one that moves furthest
  size_t outer = 0;
  for (size_t i = 0; i < piece.digits.size(); ++i) {
    if (piece.digits[i].dim != dim) continue;
    if (along == 0 || piece.digits[i].step > piece.digits[outer].step) outer = i;
    ++along;
  }
  if (!Charge(1)) return;
  const int64_t at = piece.at[dim];
  if (along == 0) {
    if (at < start || at >= stop || (at - start) % step != 0) return;
    piece.at[dim] = (at - start) / step;
    out->push_back(std::move(piece));
    return;
  }
  if (along > 1) return SliceNest(dim, start, stop, step, std::move(piece), outer, out);

  NaiveDigit& digit = piece.digits[outer];
  int64_t first = std::max<int64_t>(0, CeilDiv(start - at, digit.step));
  const int64_t last = std::min(digit.extent, CeilDiv(stop - at, digit.step));
  const int64_t period = step / std::gcd(step, digit.step);
  // Every `period`-th count hits the grid of the slice, or none does.
  const int64_t stop_looking = std::min(last, first + period);
  while (first < stop_looking && (at + first * digit.step - start) % step != 0) {
    ++first;
    if (!Charge(1)) return;
  }
  if (first >= stop_looking) return;
  piece.at[dim] = (at + first * digit.step - start) / step;
  if (!piece.from.empty()) piece.from[digit.axis] += first * digit.tensor_step;
  digit.extent = CeilDiv(last - first, period);
  digit.step = digit.step * period / step;
  digit.tensor_step *= period;
  if (digit.extent == 1) EraseDigit(outer, &piece);
  out->push_back(std::move(piece));
}

// The same for several digits along `dim`: counts of the outer one whose inner digits lie inside
// wholly stay together, the others are cut one by one.
void NaiveOps::SliceNest(size_t dim, int64_t start, int64_t stop, int64_t step, NaivePiece piece,
                         size_t outer, std::vector<NaivePiece>* out) {
  const NaiveDigit digit = piece.digits[outer];
  const int64_t at = piece.at[dim];
  int64_t span = 0;
  for (size_t i = 0; i < piece.digits.size(); ++i) {
    const NaiveDigit& inner = piece.digits[i];
    if (inner.dim == dim && i != outer) span += (inner.extent - 1) * inner.step;
  }
  const int64_t touched_first = std::max<int64_t>(0, CeilDiv(start - at - span, digit.step));
  const int64_t touched_last = std::min(digit.extent, CeilDiv(stop - at, digit.step));
  int64_t whole_first = std::max<int64_t>(0, CeilDiv(start - at, digit.step));
  int64_t whole_last = std::min(digit.extent, FloorDiv(stop - 1 - at - span, digit.step) + 1);
  // Steps of the slice may hit each count's inner digits differently.
  if (step != 1 || whole_first >= whole_last) whole_first = whole_last = touched_last;
  for (int64_t k = touched_first; k < touched_last; ++k) {
    if (failed()) return;
    if (k == whole_first && whole_first < whole_last) {
      NaivePiece inside = piece;
      inside.at[dim] = at + k * digit.step - start;
      if (!inside.from.empty()) inside.from[digit.axis] += k * digit.tensor_step;
      inside.digits[outer].extent = whole_last - whole_first;
      if (whole_last - whole_first == 1) EraseDigit(outer, &inside);
      out->push_back(std::move(inside));
      k = whole_last - 1;
      continue;
    }
    NaivePiece one = piece;
    FixDigit(outer, k, &one);
    SlicePiece(dim, start, stop, step, std::move(one), out);
  }
}

bool NaiveOps::Slice(size_t dim, int64_t start, int64_t stop, int64_t step, NaiveView* view) {
  if (failed()) return false;
  const int64_t extent = view->shape[dim];
  if (start < 0 || start > stop || stop > extent || step < 1) {
    return Fail("slice " + std::to_string(start) + ".." + std::to_string(stop) + ".." +
                std::to_string(step) + " does not fit an extent of " + std::to_string(extent));
  }
  if (start == 0 && stop == extent && step == 1) return true;
  view->shape[dim] = CeilDiv(stop - start, step);
  std::vector<NaivePiece> kept;
  if (start < stop) {
    for (NaivePiece& piece : view->pieces) {
      SlicePiece(dim, start, stop, step, std::move(piece), &kept);
    }
  }
  view->pieces = std::move(kept);
  return !failed();
}

bool NaiveOps::Drop(size_t dim, int64_t at, NaiveView* view) {
  if (at < 0 || at >= view->shape[dim]) {
    return Fail("index " + std::to_string(at) + " is outside an extent of " +
                std::to_string(view->shape[dim]));
  }
  if (!Slice(dim, at, at + 1, 1, view)) return false;
  view->shape.erase(view->shape.begin() + static_cast<std::ptrdiff_t>(dim));
  for (NaivePiece& piece : view->pieces) {
    piece.at.erase(piece.at.begin() + static_cast<std::ptrdiff_t>(dim));
    for (NaiveDigit& digit : piece.digits) digit.dim -= digit.dim > dim ? 1 : 0;
  }
  return true;
}

bool NaiveOps::Cat(size_t dim, std::vector<NaiveView> views, NaiveView* out) {
  if (failed()) return false;
  if (views.empty()) return Fail("nothing to concatenate");
  NaiveView joined = std::move(views[0]);
  if (dim >= joined.shape.size()) return Fail("no dim " + std::to_string(dim) + " to join along");
  for (size_t i = 1; i < views.size(); ++i) {
    NaiveView& next = views[i];
    std::vector<int64_t> same = next.shape;
    if (same.size() == joined.shape.size()) same[dim] = joined.shape[dim];
    if (same != joined.shape || next.dtype != joined.dtype) {
      return Fail("cannot join shapes " + ListText(joined.shape) + " and " + ListText(next.shape) +
                  " along dim " + std::to_string(dim));
    }
    const std::optional<int64_t> sum = CheckedAdd(joined.shape[dim], next.shape[dim]);
    if (!sum) return Fail("a joined extent does not fit 64 bits");
    for (NaivePiece& piece : next.pieces) {
      piece.at[dim] += joined.shape[dim];
      joined.pieces.push_back(std::move(piece));
    }
    joined.shape[dim] = *sum;
  }
  *out = std::move(joined);
  return CheckShape(out->shape);
}

bool NaiveOps::Stack(size_t dim, std::vector<NaiveView> views, NaiveView* out) {
  if (failed()) return false;
  if (views.empty()) return Fail("a stack has no elements");
  NaiveView stacked;
  stacked.shape = views[0].shape;
  stacked.dtype = views[0].dtype;
  if (dim > stacked.shape.size()) return Fail("no dim " + std::to_string(dim) + " to stack along");
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].shape != stacked.shape || views[i].dtype != stacked.dtype) {
      return Fail("cannot stack shapes " + ListText(stacked.shape) + " and " +
                  ListText(views[i].shape));
    }
    for (NaivePiece& piece : views[i].pieces) {
      piece.at.insert(piece.at.begin() + static_cast<std::ptrdiff_t>(dim), static_cast<int64_t>(i));
      for (NaiveDigit& digit : piece.digits) digit.dim += digit.dim >= dim ? 1 : 0;
      stacked.pieces.push_back(std::move(piece));
    }
  }
  stacked.shape.insert(stacked.shape.begin() + static_cast<std::ptrdiff_t>(dim),
                       static_cast<int64_t>(views.size()));
  *out = std::move(stacked);
  return CheckShape(out->shape);
}

bool NaiveOps::Pad(size_t dim, int64_t to, uint32_t fill, NaiveView* view) {
  const int64_t extent = view->shape[dim];
  if (to < extent) {
    return Fail("cannot pad an extent of " + std::to_string(extent) + " to " + std::to_string(to));
  }
  std::vector<int64_t> shape = view->shape;
  shape[dim] = to - extent;
  const DType dtype = view->dtype;
  std::vector<NaiveView> parts;
  parts.push_back(std::move(*view));
  return Whole(fill, shape, dtype, &parts.emplace_back()) && Cat(dim, std::move(parts), view);
}

bool NaiveOps::Permute(const std::vector<size_t>& dims, NaiveView* view) {
  const size_t rank = view->shape.size();
  std::vector<uint32_t> place(rank, UINT32_MAX);
  bool good = dims.size() == rank;
  for (uint32_t i = 0; good && i < rank; ++i) {
    good = dims[i] < rank && place[dims[i]] == UINT32_MAX;
    if (good) place[dims[i]] = i;
  }
  if (!good) return Fail("'permute' does not list each of " + std::to_string(rank) + " dims once");
  const auto reorder = [&](std::vector<int64_t>* values) {
    const std::vector<int64_t> old = *values;
    for (size_t i = 0; i < rank; ++i) (*values)[i] = old[dims[i]];
  };
  reorder(&view->shape);
  for (NaivePiece& piece : view->pieces) {
    reorder(&piece.at);
    for (NaiveDigit& digit : piece.digits) digit.dim = place[digit.dim];
  }
  return true;
}

bool NaiveOps::Reshape(std::vector<int64_t> shape, NaiveView* view) {
  if (!CheckShape(shape)) return false;
  NaiveView reshaped;
  reshaped.dtype = view->dtype;
  reshaped.shape = std::move(shape);
  if (reshaped.element_count() != view->element_count()) {
    return Fail("cannot reshape " + ListText(view->shape) + " to " + ListText(reshaped.shape));
  }
  std::vector<int64_t> unit(view->shape.size(), 1);
  for (size_t d = unit.size(); d-- > 1;) unit[d - 1] = unit[d] * view->shape[d];
  for (NaivePiece& piece : view->pieces) {
    LinearPiece linear;
    for (size_t d = 0; d < unit.size(); ++d) linear.base += piece.at[d] * unit[d];
    linear.from = std::move(piece.from);
    for (const NaiveDigit& digit : piece.digits) {
      linear.digits.push_back(
          {digit.extent, digit.step * unit[digit.dim], digit.axis, digit.tensor_step});
    }
    const size_t before = reshaped.pieces.size();
    if (!FitToShape(std::move(linear), reshaped.shape,
                    static_cast<size_t>(std::clamp<int64_t>(budget_, 0, kMaxCuts)),
                    &reshaped.pieces)) {
      return Charge(SIZE_MAX / 4);
    }
    for (size_t i = before; i < reshaped.pieces.size(); ++i) {
      reshaped.pieces[i].tensor = piece.tensor;
    }
    if (!Charge(reshaped.pieces.size() - before)) return false;
  }
  *view = std::move(reshaped);
  return true;
}

}  // namespace reshard
