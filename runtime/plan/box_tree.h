// BoxTree: finds which of many boxes overlap a given one.
//
// A static tree of bounding boxes over boxes of one space. A box is 2 * dim_count numbers: begin
// and end of each dim. Immutable once made; queries cost about the logarithm of the number of boxes
// plus what they find.
#ifndef RESHARD_RUNTIME_PLAN_BOX_TREE_H_
#define RESHARD_RUNTIME_PLAN_BOX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reshard {

class BoxTree {
 public:
  // `boxes` holds the boxes one after another, at least one dim each. None is empty.
  BoxTree(size_t dim_count, std::vector<int64_t> boxes);

  const int64_t* box(uint32_t index) const { return &boxes_[index * 2 * dim_count_]; }
  size_t count() const { return order_.size(); }

  // Appends the indices of the boxes that share an element with `box`, rising. Returns how many
  // boxes and nodes were looked at.
  uint64_t FindOverlapping(const int64_t* box, std::vector<uint32_t>* out) const;

 private:
  struct Node {
    uint32_t first = 0, end = 0;   // of order_
    uint32_t left = 0, right = 0;  // 0: a leaf
  };
  uint32_t Build(uint32_t first, uint32_t end);
  size_t WidestDim(uint32_t first, uint32_t end, const int64_t* bounds) const;
  bool Overlap(const int64_t* a, const int64_t* b) const;

  size_t dim_count_;
  std::vector<int64_t> boxes_;
  std::vector<uint32_t> order_;
  std::vector<Node> nodes_;      // the root first
  std::vector<int64_t> bounds_;  // per node, a box
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_BOX_TREE_H_
