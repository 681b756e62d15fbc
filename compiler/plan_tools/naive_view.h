// NaiveView: the elements of one param and where each comes from, made by plain concrete
// evaluation. Part of the naive interpreter (naive_layout.h), which shares no code with the passes
// of the compiler, so that it can judge them.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_NAIVE_VIEW_H_
#define RESHARD_COMPILER_PLAN_TOOLS_NAIVE_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"

namespace reshard {

// In NaivePiece::tensor: elements that no tensor fills.
inline constexpr uint32_t kNaiveZeroFill = UINT32_MAX;
inline constexpr uint32_t kNaiveKeepFill = UINT32_MAX - 1;
inline bool IsNaiveFill(uint32_t tensor) { return tensor >= kNaiveKeepFill; }

// Counting k from 0 to extent - 1 moves by `step` along dim `dim` of the view and by `tensor_step`
// along axis `axis` of the tensor.
struct NaiveDigit {
  int64_t extent = 1;
  uint32_t dim = 0;
  int64_t step = 1;
  uint32_t axis = 0;
  int64_t tensor_step = 1;
};

// The product of its digits' counts: view element `at` comes from tensor element `from`, and so on.
struct NaivePiece {
  uint32_t tensor = 0;
  std::vector<int64_t> at;
  std::vector<int64_t> from;  // empty for a fill
  std::vector<NaiveDigit> digits;

  int64_t element_count() const;
};

struct NaiveView {
  std::vector<int64_t> shape;
  DType dtype = DType::kBf16;
  std::vector<NaivePiece> pieces;  // disjoint, and all elements are in one

  int64_t element_count() const;
};

// The operations of the layout language on views. Each returns false once error() says why; a view
// that an operation failed on is not usable. `dim` is 0-based and inside the view.
class NaiveOps {
 public:
  // Every piece made or looked at is charged to the budget; past it operations fail.
  explicit NaiveOps(int64_t piece_budget) : budget_(piece_budget) {}

  bool Whole(uint32_t tensor, const std::vector<int64_t>& shape, DType dtype, NaiveView* out);
  bool Slice(size_t dim, int64_t start, int64_t stop, int64_t step, NaiveView* view);
  bool Drop(size_t dim, int64_t at, NaiveView* view);
  bool Cat(size_t dim, std::vector<NaiveView> views, NaiveView* out);
  bool Stack(size_t dim, std::vector<NaiveView> views, NaiveView* out);
  bool Pad(size_t dim, int64_t to, uint32_t fill, NaiveView* view);
  bool Permute(const std::vector<size_t>& dims, NaiveView* view);
  bool Reshape(std::vector<int64_t> shape, NaiveView* view);

  bool Fail(std::string text);
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  bool Charge(size_t pieces);
  bool CheckShape(const std::vector<int64_t>& shape);
  void SlicePiece(size_t dim, int64_t start, int64_t stop, int64_t step, NaivePiece piece,
                  std::vector<NaivePiece>* out);
  void SliceNest(size_t dim, int64_t start, int64_t stop, int64_t step, NaivePiece piece,
                 size_t outer, std::vector<NaivePiece>* out);

  int64_t budget_;
  std::string error_;
};

// A piece over one linear space: element numbers base + sum(k * stride).
struct LinearPiece {
  struct Digit {
    int64_t extent = 1;
    int64_t stride = 1;
    uint32_t axis = 0;
    int64_t tensor_step = 1;
  };
  int64_t base = 0;
  std::vector<int64_t> from;
  std::vector<Digit> digits;
};
// Cuts `piece` until each digit moves along one dim of the row-major `shape` without carrying into
// the next. Returns false, with `out` incomplete, when that takes more than `max_pieces`.
bool FitToShape(LinearPiece piece, const std::vector<int64_t>& shape, size_t max_pieces,
                std::vector<NaivePiece>* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_NAIVE_VIEW_H_
