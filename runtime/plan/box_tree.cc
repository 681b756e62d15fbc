#include "runtime/plan/box_tree.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reshard {
namespace {

constexpr uint32_t kLeafBoxes = 4;

}  // namespace

BoxTree::BoxTree(size_t dim_count, std::vector<int64_t> boxes)
    : dim_count_(dim_count), boxes_(std::move(boxes)) {
  order_.resize(boxes_.size() / (2 * dim_count_));
  std::iota(order_.begin(), order_.end(), 0U);
  if (!order_.empty()) Build(0, static_cast<uint32_t>(order_.size()));
}

uint32_t BoxTree::Build(uint32_t first, uint32_t end) {
  const auto id = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({first, end, 0, 0});
  const size_t numbers = 2 * dim_count_;
  std::vector<int64_t> bounds(box(order_[first]), box(order_[first]) + numbers);
  for (uint32_t i = first + 1; i < end; ++i) {
    const int64_t* const other = box(order_[i]);
    for (size_t n = 0; n < numbers; n += 2) {
      bounds[n] = std::min(bounds[n], other[n]);
      bounds[n + 1] = std::max(bounds[n + 1], other[n + 1]);
    }
  }
  bounds_.insert(bounds_.end(), bounds.begin(), bounds.end());
  if (end - first <= kLeafBoxes) return id;
  const size_t d = WidestDim(first, end, bounds.data());
  const uint32_t middle = first + (end - first) / 2;
  const auto at = [this](uint32_t i) { return order_.begin() + i; };
  std::nth_element(at(first), at(middle), at(end), [this, d](uint32_t a, uint32_t b) {
    const int64_t* const x = box(a) + 2 * d;
    const int64_t* const y = box(b) + 2 * d;
    return std::pair(x[0], a) < std::pair(y[0], b);
  });
  const uint32_t left = Build(first, middle);
  nodes_[id].left = left;
  const uint32_t right = Build(middle, end);
  nodes_[id].right = right;
  return id;
}

// The dim in which the boxes stand furthest apart, measured in their own mean width.
size_t BoxTree::WidestDim(uint32_t first, uint32_t end, const int64_t* bounds) const {
  size_t widest = 0;
  double most = -1;
  for (size_t d = 0; d < dim_count_; ++d) {
    double widths = 0;
    for (uint32_t i = first; i < end; ++i) {
      const int64_t* const range = box(order_[i]) + 2 * d;
      widths += static_cast<double>(range[1] - range[0]);
    }
    const double apart = static_cast<double>(bounds[2 * d + 1] - bounds[2 * d]) / widths;
    if (apart > most) {
      most = apart;
      widest = d;
    }
  }
  return widest;
}

bool BoxTree::Overlap(const int64_t* a, const int64_t* b) const {
  for (size_t n = 0; n < 2 * dim_count_; n += 2) {
    if (a[n] >= b[n + 1] || b[n] >= a[n + 1]) return false;
  }
  return true;
}

uint64_t BoxTree::FindOverlapping(const int64_t* wanted, std::vector<uint32_t>* out) const {
  if (nodes_.empty()) return 1;
  const size_t found_before = out->size();
  uint64_t steps = 0;
  std::vector<uint32_t> open = {0};
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    ++steps;
    if (!Overlap(&bounds_[id * 2 * dim_count_], wanted)) continue;
    const Node& node = nodes_[id];
    if (node.left != 0) {
      open.push_back(node.left);
      open.push_back(node.right);
      continue;
    }
    for (uint32_t i = node.first; i < node.end; ++i) {
      ++steps;
      if (Overlap(box(order_[i]), wanted)) out->push_back(order_[i]);
    }
  }
  std::sort(out->begin() + static_cast<std::ptrdiff_t>(found_before), out->end());
  return steps;
}

}  // namespace reshard
