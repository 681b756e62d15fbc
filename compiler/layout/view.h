// View: which logical element every element of a (part of a) param is, as an affine map.
//
// A view is cut into pieces. A piece is a nest of digits: moving digit k by one moves the position
// in the view by `dim_step` along one dim and the position in the super-tensor by `axis_step` along
// one axis. Interleaving, strides and reshapes stay a handful of digits; nothing lists elements.
// The pieces of a view cover each of its positions exactly once: every operation below keeps that.
// Operations are pure; the caller has checked the arguments against the view's shape.
#ifndef RESHARD_COMPILER_LAYOUT_VIEW_H_
#define RESHARD_COMPILER_LAYOUT_VIEW_H_

#include <cstdint>
#include <vector>

#include "compiler/layout/logical_table.h"
#include "runtime/base/dtype.h"

namespace reshard {

// Digits of a loop variable or of an enclosing stack move along no dim of the view: their `dim` is
// kOuterDim plus the number of the variable.
inline constexpr uint32_t kOuterDim = 1u << 16;

struct ViewDigit {
  int64_t extent = 1;  // at least 2
  uint32_t dim = 0;
  int64_t dim_step = 1;  // at least 1
  int32_t axis = -1;     // of the super-tensor; -1: none (a repeated element, or fill)
  int64_t axis_step = 0;
  bool operator==(const ViewDigit&) const = default;
};

struct ViewPiece {
  // Not a tensor: padding that is written with zeros, or left alone.
  static constexpr SuperId kZeroFill = UINT32_MAX;
  static constexpr SuperId kKeepFill = UINT32_MAX - 1;
  SuperId super = kZeroFill;
  std::vector<int64_t> at;     // position in the view with all digits 0
  std::vector<int64_t> begin;  // index in the super-tensor with all digits 0; empty for fill
  std::vector<ViewDigit> digits;
  bool is_fill() const { return super >= kKeepFill; }
};

struct View {
  DType dtype = DType::kBf16;
  std::vector<int64_t> shape;
  std::vector<ViewPiece> pieces;
};

// Pieces that may still be made; operations stop early, with a useless result, once it is negative.
struct PieceBudget {
  int64_t left = 0;
  bool Charge(int64_t pieces = 1) { return (left -= pieces) >= 0; }
  bool exhausted() const { return left < 0; }
};

// Positions begin, begin + step, ... below end along `dim`, renumbered from 0.
View SliceView(const View& view, uint32_t dim, int64_t begin, int64_t end, int64_t step,
               PieceBudget* budget);
View DropDim(const View& view, uint32_t dim);  // whose extent is 1
// Inputs one after the other. Their shapes agree outside `dim`; there is at least one.
View ConcatViews(const std::vector<View>& inputs, uint32_t dim, PieceBudget* budget);
// Part g of each input in turn, for all g. Every extent along `dim` is a multiple of `groups`.
View InterleaveViews(const std::vector<View>& inputs, uint32_t dim, int64_t groups,
                     PieceBudget* budget);
// Grows `dim` to `extent`; `fill` is one of the two fills of ViewPiece.
View PadView(const View& view, uint32_t dim, int64_t extent, SuperId fill, PieceBudget* budget);
// dims[i] is the input dim that becomes dim i.
View PermuteView(const View& view, const std::vector<uint32_t>& dims);
// Row-major; the products of both shapes are equal.
View ReshapeView(const View& view, const std::vector<int64_t>& shape, PieceBudget* budget);
// A new dim of `extent` before `dim`. Digits of variable `outer` move along it from now on; pieces
// without one are repeated.
View StackView(const View& view, uint32_t dim, int64_t extent, uint32_t outer, PieceBudget* budget);

// Joins pieces and digits that continue each other, so that equal maps made in different ways
// become equal or close. The result has at most as many pieces.
void MergePieces(View* view);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_VIEW_H_
