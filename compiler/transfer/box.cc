#include "compiler/transfer/box.h"

#include <algorithm>
#include <numeric>

namespace reshard {
namespace {

// Order for joining along `dim`: boxes that agree in all other dims stand together, rising.
bool JoinLess(BoxView a, BoxView b, size_t dim) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (d == dim) continue;
    if (a[d].begin != b[d].begin) return a[d].begin < b[d].begin;
    if (a[d].extent != b[d].extent) return a[d].extent < b[d].extent;
  }
  return a[dim].begin < b[dim].begin;
}

bool CanJoin(BoxView a, BoxView b, size_t dim) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (d != dim && !(a[d] == b[d])) return false;
  }
  return a[dim].end() == b[dim].begin;
}

BoxList JoinAlong(const BoxList& boxes, size_t dim) {
  std::vector<uint32_t> order(boxes.count());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return JoinLess(boxes[a], boxes[b], dim); });
  BoxList joined(boxes.dim_count());
  for (const uint32_t box : order) {
    if (joined.count() > 0 && CanJoin(joined[joined.count() - 1], boxes[box], dim)) {
      joined.Mutable(joined.count() - 1)[dim].extent += boxes[box][dim].extent;
    } else {
      joined.Add(boxes[box]);
    }
  }
  return joined;
}

}  // namespace

uint32_t BoxList::Add(BoxView box) {
  flat_.insert(flat_.end(), box.begin(), box.end());
  return count_++;
}

bool WorkBudget::Spend(size_t units) {
  if (left_ < 0) return false;
  left_ = units > static_cast<size_t>(left_) ? -1 : left_ - static_cast<int64_t>(units);
  return left_ >= 0;
}

int64_t BoxVolume(BoxView box) {
  int64_t volume = 1;
  for (const BoxDim& dim : box) volume *= dim.extent;
  return volume;
}

bool BoxesEqual(BoxView a, BoxView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool BoxesOverlap(BoxView a, BoxView b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].begin >= b[d].end() || b[d].begin >= a[d].end()) return false;
  }
  return true;
}

void IntersectBoxes(BoxView a, BoxView b, std::vector<BoxDim>* out) {
  out->resize(a.size());
  for (size_t d = 0; d < a.size(); ++d) {
    const int64_t begin = std::max(a[d].begin, b[d].begin);
    (*out)[d] = {begin, std::min(a[d].end(), b[d].end()) - begin};
  }
}

bool BoxLess(BoxView a, BoxView b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].begin != b[d].begin) return a[d].begin < b[d].begin;
  }
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].extent != b[d].extent) return a[d].extent < b[d].extent;
  }
  return false;
}

BoxList MergeBoxes(const BoxList& boxes) {
  BoxList merged = boxes;
  // Innermost dims first: long runs of memory matter most. Repeated, as one join enables another.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t dim = merged.dim_count(); dim-- > 0;) {
      const uint32_t before = merged.count();
      merged = JoinAlong(merged, dim);
      changed = changed || merged.count() < before;
    }
  }
  std::vector<uint32_t> order(merged.count());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return BoxLess(merged[a], merged[b]); });
  BoxList sorted(merged.dim_count());
  for (const uint32_t box : order) sorted.Add(merged[box]);
  return sorted;
}

}  // namespace reshard
