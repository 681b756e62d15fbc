#include "compiler/import/recorded_copy.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "runtime/base/checked_math.h"

namespace reshard {
namespace {

// A dim of the views that is still to be said.
struct Walk {
  int64_t extent = 0;
  int64_t src_stride = 0;
  int64_t dst_stride = 0;
};

class CopyCutter {
 public:
  CopyCutter(const std::vector<int64_t>& src_shape, const std::vector<int64_t>& dst_shape,
             int64_t max_pieces)
      : src_(src_shape), dst_(dst_shape), max_pieces_(max_pieces) {}

  // Says the walks from the last to the first; false after an error.
  bool Cut(std::vector<Walk> walks, int64_t src_offset, int64_t dst_offset) {
    while (!walks.empty() && walks.back().extent == 1) walks.pop_back();
    if (walks.empty()) return Emit(src_offset, dst_offset);
    const Walk walk = walks.back();
    walks.pop_back();
    const std::optional<size_t> from = DimOf(src_, walk.src_stride);
    const std::optional<size_t> to = DimOf(dst_, walk.dst_stride);
    if (from && to && !src_.used[*from] && !dst_.used[*to] && walk.dst_stride == dst_.stride[*to]) {
      const int64_t fits = std::min(Fits(src_, *from, src_offset, walk.src_stride),
                                    Fits(dst_, *to, dst_offset, walk.dst_stride));
      const int64_t inner = Largest(walk.extent, fits);
      if (inner == 0) {
        error_ = CutError::kTooMany;
        return false;
      }
      if (inner > 1)
        return Follow(std::move(walks), walk, inner, {*from, *to}, src_offset, dst_offset);
    }
    for (int64_t i = 0; i < walk.extent; ++i) {
      if (!Cut(walks, src_offset + i * walk.src_stride, dst_offset + i * walk.dst_stride)) {
        return false;
      }
    }
    return true;
  }

  std::vector<CopyPiece> Take() { return std::move(pieces_); }
  CutError error() const { return error_; }

 private:
  struct Tensor {
    explicit Tensor(const std::vector<int64_t>& extents)
        : shape(extents), stride(extents.size()), used(extents.size()), runs(extents.size()) {
      int64_t step = 1;
      for (size_t d = extents.size(); d-- > 0;) {
        stride[d] = step;
        step *= extents[d];
      }
    }
    std::vector<int64_t> shape;
    std::vector<int64_t> stride;
    std::vector<bool> used;
    std::vector<CopyRun> runs;  // of the dims that are used; starts are known at the end
  };
  struct Dims {
    size_t src = 0;
    size_t dst = 0;
  };

  // The dim that steps of `stride` walk along: the outermost whose own stride divides it.
  static std::optional<size_t> DimOf(const Tensor& tensor, int64_t stride) {
    if (stride <= 0) return std::nullopt;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      if (tensor.shape[d] > 1 && stride % tensor.stride[d] == 0) return d;
    }
    return std::nullopt;
  }

  // How many steps stay inside the dim.
  static int64_t Fits(const Tensor& tensor, size_t dim, int64_t offset, int64_t stride) {
    const int64_t start = offset / tensor.stride[dim] % tensor.shape[dim];
    return (tensor.shape[dim] - 1 - start) / (stride / tensor.stride[dim]) + 1;
  }

  // The largest divisor of `extent` that is at most `fits`; all of it where that fits. The walk
  // falls into `extent` / divisor parts, each of at least one piece: those that are too many are
  // not looked at (then it is 0), so that looking takes no more steps than there will be pieces.
  int64_t Largest(int64_t extent, int64_t fits) const {
    const int64_t most = std::min(extent, max_pieces_ - static_cast<int64_t>(pieces_.size()));
    for (int64_t parts = (extent - 1) / fits + 1; parts <= most; ++parts) {
      if (extent % parts == 0) return extent / parts;
    }
    return 0;
  }

  bool Follow(std::vector<Walk> walks, const Walk& walk, int64_t inner, Dims dims,
              int64_t src_offset, int64_t dst_offset) {
    src_.used[dims.src] = dst_.used[dims.dst] = true;
    src_.runs[dims.src] = {0, inner, walk.src_stride / src_.stride[dims.src]};
    dst_.runs[dims.dst] = {0, inner, 1};
    pairs_.push_back(dims);
    bool ok = true;
    if (inner == walk.extent) {
      ok = Cut(std::move(walks), src_offset, dst_offset);
    } else {
      // What lies outside of it begins anew at each of its ends.
      const int64_t outer = walk.extent / inner;
      for (int64_t i = 0; ok && i < outer; ++i) {
        ok = Cut(walks, src_offset + i * inner * walk.src_stride,
                 dst_offset + i * inner * walk.dst_stride);
      }
    }
    pairs_.pop_back();
    src_.used[dims.src] = dst_.used[dims.dst] = false;
    src_.runs[dims.src] = dst_.runs[dims.dst] = {};
    return ok;
  }

  static std::vector<CopyRun> RunsAt(const Tensor& tensor, int64_t offset) {
    std::vector<CopyRun> runs = tensor.runs;
    for (size_t d = 0; d < runs.size(); ++d) {
      runs[d].start = offset / tensor.stride[d];
      offset %= tensor.stride[d];
    }
    return runs;
  }

  bool Emit(int64_t src_offset, int64_t dst_offset) {
    if (static_cast<int64_t>(pieces_.size()) >= max_pieces_) {
      error_ = CutError::kTooMany;
      return false;
    }
    CopyPiece piece = {RunsAt(src_, src_offset), RunsAt(dst_, dst_offset),
                       std::vector<int64_t>(dst_.shape.size(), -1)};
    for (const Dims& pair : pairs_) piece.dims[pair.dst] = static_cast<int64_t>(pair.src);
    // A run that leaves its dim in the middle of a piece cannot be said.
    for (const Dims& pair : pairs_) {
      const CopyRun& from = piece.src[pair.src];
      const CopyRun& to = piece.dst[pair.dst];
      if (from.start + (from.length - 1) * from.step >= src_.shape[pair.src] ||
          to.start + to.length > dst_.shape[pair.dst]) {
        error_ = CutError::kNoBoxes;
        return false;
      }
    }
    pieces_.push_back(std::move(piece));
    return true;
  }

  Tensor src_;
  Tensor dst_;
  int64_t max_pieces_ = 0;
  std::vector<Dims> pairs_;
  std::vector<CopyPiece> pieces_;
  CutError error_ = CutError::kNone;
};

// Every element of the view lies in a tensor of so many elements.
bool LiesInside(const StridedView& view, const std::vector<int64_t>& shape) {
  const std::optional<int64_t> count = CheckedProduct(std::span<const int64_t>(shape));
  if (!count || view.offset < 0) return false;
  int64_t last = view.offset;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.stride[d] < 0) return false;
    const std::optional<int64_t> walked = CheckedMul(view.shape[d] - 1, view.stride[d]);
    const std::optional<int64_t> sum = walked ? CheckedAdd(last, *walked) : std::nullopt;
    if (!sum) return false;
    last = *sum;
  }
  return last < *count;
}

}  // namespace

CutResult CutCopy(const StridedView& src, const std::vector<int64_t>& src_shape,
                  const StridedView& dst, const std::vector<int64_t>& dst_shape,
                  int64_t max_pieces) {
  if (src.shape != dst.shape || src.stride.size() != src.shape.size() ||
      dst.stride.size() != dst.shape.size()) {
    return {CutError::kNoBoxes, {}};
  }
  if (std::find(src.shape.begin(), src.shape.end(), 0) != src.shape.end()) return {};
  if (!LiesInside(src, src_shape) || !LiesInside(dst, dst_shape)) return {CutError::kNoBoxes, {}};
  std::vector<Walk> walks;
  for (size_t d = 0; d < src.shape.size(); ++d) {
    walks.push_back({src.shape[d], src.stride[d], dst.stride[d]});
  }
  CopyCutter cutter(src_shape, dst_shape, max_pieces);
  if (!cutter.Cut(std::move(walks), src.offset, dst.offset)) return {cutter.error(), {}};
  return {CutError::kNone, cutter.Take()};
}

}  // namespace reshard
