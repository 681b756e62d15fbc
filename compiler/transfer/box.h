// Boxes: products of integer intervals, the shapes that places, cells and their pieces have.
//
// A BoxList holds many boxes of one dimension count in one piece of memory; boxes are named by
// their position in it. No box is empty.
#ifndef RESHARD_COMPILER_TRANSFER_BOX_H_
#define RESHARD_COMPILER_TRANSFER_BOX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reshard {

struct BoxDim {
  int64_t begin = 0;
  int64_t extent = 1;
  int64_t end() const { return begin + extent; }
  bool operator==(const BoxDim&) const = default;
};

using BoxView = std::span<const BoxDim>;

class BoxList {
 public:
  BoxList() = default;
  explicit BoxList(size_t dim_count) : dim_count_(dim_count) {}
  size_t dim_count() const { return dim_count_; }
  uint32_t count() const { return count_; }
  BoxView operator[](uint32_t box) const {
    return {flat_.data() + size_t{box} * dim_count_, dim_count_};
  }
  std::span<BoxDim> Mutable(uint32_t box) {
    return {flat_.data() + size_t{box} * dim_count_, dim_count_};
  }
  // Appends a copy; returns its position. `box` must not point into this list.
  uint32_t Add(BoxView box);

 private:
  size_t dim_count_ = 0;
  uint32_t count_ = 0;
  std::vector<BoxDim> flat_;
};

// How many pieces, or elementary steps, a computation on input data may still make.
class WorkBudget {
 public:
  explicit WorkBudget(int64_t units) : left_(units) {}
  // False, for good, once more was spent than there was.
  [[nodiscard]] bool Spend(size_t units);

 private:
  int64_t left_;
};

// Elements of a box. The caller has checked that the enclosing tensor's count fits.
int64_t BoxVolume(BoxView box);
bool BoxesEqual(BoxView a, BoxView b);
bool BoxesOverlap(BoxView a, BoxView b);
// The common part of two boxes that overlap.
void IntersectBoxes(BoxView a, BoxView b, std::vector<BoxDim>* out);
// A total order: all begins first, then all extents.
bool BoxLess(BoxView a, BoxView b);

// Joins neighbours among pairwise disjoint boxes into larger boxes until no two of them form a box.
// Deterministic, whatever the order of the input; the result is sorted by BoxLess.
BoxList MergeBoxes(const BoxList& boxes);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_BOX_H_
