// A copy that a weight loader made, as boxes: strided views become runs along the dims of the
// checkpoint tensor and of the param.
#ifndef RESHARD_COMPILER_IMPORT_RECORDED_COPY_H_
#define RESHARD_COMPILER_IMPORT_RECORDED_COPY_H_

#include <compare>
#include <cstdint>
#include <vector>

namespace reshard {

// Element (i, j, ...) lies at offset + i * stride[0] + j * stride[1] + ..., in elements.
struct StridedView {
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;
};

struct CopyRun {
  int64_t start = 0;
  int64_t length = 1;
  int64_t step = 1;
  friend auto operator<=>(const CopyRun&, const CopyRun&) = default;
};

// As a piece of an explicit param: runs per dim of the tensor and of the param.
struct CopyPiece {
  std::vector<CopyRun> src;
  std::vector<CopyRun> dst;
  std::vector<int64_t> dims;  // per dim of the param: the tensor's dim that it walks along, or -1
  friend auto operator<=>(const CopyPiece&, const CopyPiece&) = default;
};

enum class CutError : uint8_t {
  kNone,
  kNoBoxes,  // the views' shapes differ, an element lies outside, or steps leave a dim midway
  kTooMany,  // more pieces than allowed
};

struct CutResult {
  CutError error = CutError::kNone;
  std::vector<CopyPiece> pieces;  // in the order of the views; empty after an error
};

// Cuts the copy between row-major tensors of `src_shape` and `dst_shape` into at most `max_pieces`.
CutResult CutCopy(const StridedView& src, const std::vector<int64_t>& src_shape,
                  const StridedView& dst, const std::vector<int64_t>& dst_shape,
                  int64_t max_pieces);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_RECORDED_COPY_H_
