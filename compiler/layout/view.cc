#include "compiler/layout/view.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/wide_int.h"

namespace reshard {
namespace {

// Indices of the digits that move along `dim`, heaviest first.
std::vector<size_t> DigitsAlong(const ViewPiece& piece, uint32_t dim) {
  std::vector<size_t> found;
  for (size_t i = 0; i < piece.digits.size(); ++i) {
    if (piece.digits[i].dim == dim) found.push_back(i);
  }
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) {
    return piece.digits[a].dim_step > piece.digits[b].dim_step;
  });
  return found;
}

// How far the digits order[level...] move along their dim, all at their ends.
int64_t SpanFrom(const ViewPiece& piece, const std::vector<size_t>& order, size_t level) {
  int64_t span = 0;
  for (size_t i = level; i < order.size(); ++i) {
    span += (piece.digits[order[i]].extent - 1) * piece.digits[order[i]].dim_step;
  }
  return span;
}

// Restricts a digit to its values first, first + stride, ... (count of them). The dim step is
// multiplied by the stride; a digit with a single value stays, with extent 1, until Tidy.
void Restrict(ViewPiece* piece, size_t digit_index, int64_t first, int64_t count, int64_t stride) {
  ViewDigit& digit = piece->digits[digit_index];
  if (digit.dim < kOuterDim) piece->at[digit.dim] += first * digit.dim_step;
  if (digit.axis >= 0) piece->begin[static_cast<size_t>(digit.axis)] += first * digit.axis_step;
  digit.extent = count;
  if (count > 1) {
    digit.dim_step *= stride;
    digit.axis_step *= stride;
  }
}

void Tidy(ViewPiece* piece) {
  std::erase_if(piece->digits, [](const ViewDigit& digit) { return digit.extent == 1; });
}

int64_t MulMod(int64_t a, int64_t b, int64_t modulus) {
  return static_cast<int64_t>(static_cast<Wide>(a) * b % modulus);
}

// The x in [0, modulus) with a * x = 1 modulo `modulus`, which has no factor in common with a.
int64_t InverseMod(int64_t a, int64_t modulus) {
  int64_t r0 = modulus, r1 = a % modulus;
  int64_t x0 = 0, x1 = 1;
  while (r1 > 0) {
    const int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    x0 = std::exchange(x1, x0 - quotient * x1);
  }
  return (x0 % modulus + modulus) % modulus;
}

int64_t CeilDiv(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Appends the parts of a piece that lie in [begin, end) along one dim.
struct Cutter {
  uint32_t dim;
  int64_t begin, end;
  const std::vector<size_t>& order;
  PieceBudget* budget;
  std::vector<ViewPiece>* out;

  void Cut(const ViewPiece& piece, size_t level) const {
    if (budget->exhausted()) return;
    const int64_t at = piece.at[dim];
    const int64_t span = SpanFrom(piece, order, level);
    if (at >= end || at + span < begin) return;
    if (at >= begin && at + span < end) {
      if (!budget->Charge()) return;
      out->push_back(piece);
      return Tidy(&out->back());
    }
    RESHARD_CHECK(level < order.size(), "a single position is inside or outside");
    const ViewDigit& digit = piece.digits[order[level]];
    const int64_t inner = SpanFrom(piece, order, level + 1);
    // Digit values whose block touches the range, and those whose block lies in it.
    const int64_t first = std::max<int64_t>(0, CeilDiv(begin - at - inner, digit.dim_step));
    const int64_t last = std::min(digit.extent - 1, FloorDiv(end - 1 - at, digit.dim_step));
    const int64_t full_first = std::max<int64_t>(0, CeilDiv(begin - at, digit.dim_step));
    const int64_t full_last =
        std::min(digit.extent - 1, FloorDiv(end - 1 - at - inner, digit.dim_step));
    for (int64_t k = first; k <= last && !budget->exhausted(); ++k) {
      ViewPiece part = piece;
      if (k >= full_first && k <= full_last) {
        Restrict(&part, order[level], k, full_last - k + 1, 1);
        if (!budget->Charge()) return;
        out->push_back(std::move(part));
        Tidy(&out->back());
        k = full_last;
      } else {
        if (!budget->Charge()) return;
        Restrict(&part, order[level], k, 1, 1);
        Cut(part, level + 1);
      }
    }
  }
};

void CutPiece(const ViewPiece& piece, uint32_t dim, int64_t begin, int64_t end, PieceBudget* budget,
              std::vector<ViewPiece>* out) {
  const std::vector<size_t> order = DigitsAlong(piece, dim);
  Cutter{dim, begin, end, order, budget, out}.Cut(piece, 0);
}

// Appends the parts of a piece at multiples of `step` along one dim (its origin is at 0), with
// positions divided by it.
struct Strider {
  uint32_t dim;
  int64_t step;
  const std::vector<size_t>& order;
  PieceBudget* budget;
  std::vector<ViewPiece>* out;

  void Stride(const ViewPiece& piece, size_t level) const {
    if (budget->exhausted()) return;
    if (level == order.size()) {
      if (piece.at[dim] % step != 0 || !budget->Charge()) return;
      out->push_back(piece);
      ViewPiece& kept = out->back();
      kept.at[dim] /= step;
      Tidy(&kept);
      for (ViewDigit& digit : kept.digits) {
        if (digit.dim == dim) digit.dim_step /= step;
      }
      return;
    }
    const ViewDigit& digit = piece.digits[order[level]];
    // Values of the digit fall into classes by what they leave modulo the step.
    const int64_t common = std::gcd(step, digit.dim_step);
    const int64_t classes = step / common;
    int64_t first = 0;
    int64_t last = std::min(classes, digit.extent) - 1;
    if (level + 1 == order.size()) {
      // The last digit: only one class can reach a multiple of the step.
      if (piece.at[dim] % common != 0) return;
      const int64_t missing = (step - piece.at[dim] % step) % step / common;
      first = MulMod(missing, InverseMod(digit.dim_step / common, classes), classes);
      last = std::min(last, first);
    }
    for (int64_t k = first; k <= last && budget->Charge(); ++k) {
      ViewPiece part = piece;
      Restrict(&part, order[level], k, (digit.extent - k + classes - 1) / classes, classes);
      Stride(part, level + 1);
    }
  }
};

// Appends parts of a piece such that along `dim` each digit either moves by multiples of `radix`
// or stays inside one block of `radix` positions.
struct Refiner {
  uint32_t dim;
  int64_t radix;
  const std::vector<size_t>& order;
  PieceBudget* budget;
  std::vector<ViewPiece>* out;

  void Emit(ViewPiece piece) const {
    if (!budget->Charge()) return;
    Tidy(&piece);
    out->push_back(std::move(piece));
  }

  void Refine(const ViewPiece& piece, size_t level) const {
    if (budget->exhausted()) return;
    const int64_t rest = piece.at[dim] % radix;
    if (rest + SpanFrom(piece, order, level) < radix) return Emit(piece);
    const ViewDigit digit = piece.digits[order[level]];
    if (digit.dim_step % radix == 0) return Refine(piece, level + 1);
    const int64_t inner = SpanFrom(piece, order, level + 1);
    if (radix % digit.dim_step != 0 || rest % digit.dim_step + inner >= digit.dim_step) {
      for (int64_t k = 0; k < digit.extent && !budget->exhausted(); ++k) {
        ViewPiece part = piece;
        Restrict(&part, order[level], k, 1, 1);
        Refine(part, level + 1);
      }
      return;
    }
    const int64_t per_block = radix / digit.dim_step;
    const int64_t used = rest / digit.dim_step;
    const int64_t head = std::min(digit.extent, (per_block - used) % per_block);
    const int64_t blocks = (digit.extent - head) / per_block;
    const int64_t tail = digit.extent - head - blocks * per_block;
    if (head > 0) EmitPart(piece, level, 0, head);
    if (blocks > 0) {
      ViewPiece part = piece;
      Restrict(&part, order[level], head, per_block, 1);
      ViewDigit block = part.digits[order[level]];
      block.extent = blocks;
      block.dim_step = digit.dim_step * per_block;
      block.axis_step = digit.axis_step * per_block;
      part.digits.push_back(block);
      Emit(std::move(part));
    }
    if (tail > 0) EmitPart(piece, level, head + blocks * per_block, tail);
  }

  void EmitPart(const ViewPiece& piece, size_t level, int64_t first, int64_t count) const {
    ViewPiece part = piece;
    Restrict(&part, order[level], first, count, 1);
    Emit(std::move(part));
  }
};

std::vector<ViewPiece> RefineAt(const std::vector<ViewPiece>& pieces, uint32_t dim, int64_t radix,
                                PieceBudget* budget) {
  std::vector<ViewPiece> out;
  for (const ViewPiece& piece : pieces) {
    const std::vector<size_t> order = DigitsAlong(piece, dim);
    Refiner{dim, radix, order, budget, &out}.Refine(piece, 0);
  }
  return out;
}

ViewPiece FillPiece(const std::vector<int64_t>& shape, uint32_t dim, int64_t begin, SuperId fill) {
  ViewPiece piece;
  piece.super = fill;
  piece.at.assign(shape.size(), 0);
  piece.at[dim] = begin;
  for (uint32_t d = 0; d < shape.size(); ++d) {
    const int64_t extent = d == dim ? shape[d] - begin : shape[d];
    if (extent > 1) piece.digits.push_back({extent, d, 1, -1, 0});
  }
  return piece;
}

}  // namespace

View SliceView(const View& view, uint32_t dim, int64_t begin, int64_t end, int64_t step,
               PieceBudget* budget) {
  View out;
  out.dtype = view.dtype;
  out.shape = view.shape;
  out.shape[dim] = (end - begin) / step + ((end - begin) % step != 0 ? 1 : 0);
  for (const ViewPiece& piece : view.pieces) CutPiece(piece, dim, begin, end, budget, &out.pieces);
  for (ViewPiece& piece : out.pieces) piece.at[dim] -= begin;
  if (step == 1) return out;
  std::vector<ViewPiece> kept;
  for (const ViewPiece& piece : out.pieces) {
    const std::vector<size_t> order = DigitsAlong(piece, dim);
    Strider{dim, step, order, budget, &kept}.Stride(piece, 0);
  }
  out.pieces = std::move(kept);
  return out;
}

View DropDim(const View& view, uint32_t dim) {
  View out = view;
  out.shape.erase(out.shape.begin() + dim);
  for (ViewPiece& piece : out.pieces) {
    piece.at.erase(piece.at.begin() + dim);
    for (ViewDigit& digit : piece.digits) {
      if (digit.dim < kOuterDim && digit.dim > dim) --digit.dim;
    }
  }
  return out;
}

View ConcatViews(const std::vector<View>& inputs, uint32_t dim, PieceBudget* budget) {
  View out;
  out.dtype = inputs[0].dtype;
  out.shape = inputs[0].shape;
  out.shape[dim] = 0;
  for (const View& input : inputs) {
    if (!budget->Charge(static_cast<int64_t>(input.pieces.size()))) return out;
    for (const ViewPiece& piece : input.pieces) {
      out.pieces.push_back(piece);
      out.pieces.back().at[dim] += out.shape[dim];
    }
    out.shape[dim] += input.shape[dim];
  }
  return out;
}

View InterleaveViews(const std::vector<View>& inputs, uint32_t dim, int64_t groups,
                     PieceBudget* budget) {
  View out;
  out.dtype = inputs[0].dtype;
  out.shape = inputs[0].shape;
  out.shape[dim] = 0;
  for (const View& input : inputs) out.shape[dim] += input.shape[dim];
  const int64_t group_extent = out.shape[dim] / groups;
  int64_t offset = 0;  // of this input's part inside a group
  for (const View& input : inputs) {
    const int64_t part = input.shape[dim] / groups;
    if (part == 0) continue;
    for (ViewPiece& piece : RefineAt(input.pieces, dim, part, budget)) {
      const int64_t at = piece.at[dim];
      piece.at[dim] = at / part * group_extent + offset + at % part;
      for (ViewDigit& digit : piece.digits) {
        if (digit.dim == dim && digit.dim_step % part == 0) {
          digit.dim_step = digit.dim_step / part * group_extent;
        }
      }
      out.pieces.push_back(std::move(piece));
    }
    offset += part;
  }
  return out;
}

View PadView(const View& view, uint32_t dim, int64_t extent, SuperId fill, PieceBudget* budget) {
  View out = view;
  out.shape[dim] = extent;
  const bool empty =
      std::any_of(out.shape.begin(), out.shape.end(), [](int64_t e) { return e == 0; });
  if (extent > view.shape[dim] && !empty && budget->Charge()) {
    out.pieces.push_back(FillPiece(out.shape, dim, view.shape[dim], fill));
  }
  return out;
}

View PermuteView(const View& view, const std::vector<uint32_t>& dims) {
  View out = view;
  std::vector<uint32_t> becomes(dims.size());
  for (uint32_t i = 0; i < dims.size(); ++i) {
    becomes[dims[i]] = i;
    out.shape[i] = view.shape[dims[i]];
  }
  for (size_t p = 0; p < out.pieces.size(); ++p) {
    for (size_t i = 0; i < dims.size(); ++i) out.pieces[p].at[i] = view.pieces[p].at[dims[i]];
    for (ViewDigit& digit : out.pieces[p].digits) {
      if (digit.dim < kOuterDim) digit.dim = becomes[digit.dim];
    }
  }
  return out;
}

View ReshapeView(const View& view, const std::vector<int64_t>& shape, PieceBudget* budget) {
  View out;
  out.dtype = view.dtype;
  out.shape = shape;
  // Join all dims into one: exact, since positions only get scaled.
  std::vector<int64_t> weight(view.shape.size(), 1);
  for (size_t d = view.shape.size(); d-- > 1;) weight[d - 1] = weight[d] * view.shape[d];
  out.pieces = view.pieces;
  for (ViewPiece& piece : out.pieces) {
    int64_t position = 0;
    for (size_t d = 0; d < weight.size(); ++d) position += piece.at[d] * weight[d];
    piece.at.assign(1, position);
    for (ViewDigit& digit : piece.digits) {
      if (digit.dim >= kOuterDim) continue;
      digit.dim_step *= weight[digit.dim];
      digit.dim = 0;
    }
  }
  // Split it at the weight of each new dim.
  weight.assign(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) weight[d - 1] = weight[d] * shape[d];
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    if (!out.pieces.empty()) out.pieces = RefineAt(out.pieces, 0, weight[d], budget);
  }
  for (ViewPiece& piece : out.pieces) {
    int64_t position = piece.at[0];
    piece.at.assign(shape.size(), 0);
    for (size_t d = 0; d < shape.size(); ++d) {
      piece.at[d] = position / weight[d];
      position %= weight[d];
    }
    for (ViewDigit& digit : piece.digits) {
      if (digit.dim >= kOuterDim) continue;
      uint32_t d = 0;
      while (digit.dim_step % weight[d] != 0) ++d;
      digit.dim = d;
      digit.dim_step /= weight[d];
    }
  }
  return out;
}

View StackView(const View& view, uint32_t dim, int64_t extent, uint32_t outer,
               PieceBudget* budget) {
  View out = view;
  out.shape.insert(out.shape.begin() + dim, extent);
  if (!budget->Charge(static_cast<int64_t>(view.pieces.size()))) return out;
  for (ViewPiece& piece : out.pieces) {
    piece.at.insert(piece.at.begin() + dim, 0);
    bool walks = false;
    for (ViewDigit& digit : piece.digits) {
      if (digit.dim < kOuterDim && digit.dim >= dim) ++digit.dim;
      if (digit.dim == kOuterDim + outer) {
        digit.dim = dim;
        walks = true;
      }
    }
    if (!walks && extent > 1) piece.digits.push_back({extent, dim, 1, -1, 0});
  }
  return out;
}

}  // namespace reshard
