#include "compiler/layout/param_boxes.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace reshard {
namespace {

bool Meet(const PieceBox& a, const PieceBox& b) {
  for (size_t d = 0; d < a.begin.size(); ++d) {
    if (a.begin[d] + a.extent[d] <= b.begin[d] || b.begin[d] + b.extent[d] <= a.begin[d]) {
      return false;
    }
  }
  return true;
}

// The dim along which most boxes begin at different places: a sweep along it compares few pairs.
size_t SweepDim(const std::vector<PieceBox>& boxes) {
  size_t best = 0;
  size_t best_count = 0;
  for (size_t d = 0; d < boxes[0].begin.size(); ++d) {
    std::set<int64_t> begins;
    for (const PieceBox& box : boxes) begins.insert(box.begin[d]);
    if (begins.size() <= best_count) continue;
    best = d;
    best_count = begins.size();
  }
  return best;
}

// Appends box minus cut, in at most two boxes per dim.
void Subtract(PieceBox box, const PieceBox& cut, std::vector<PieceBox>* out) {
  if (!Meet(box, cut)) {
    out->push_back(std::move(box));
    return;
  }
  for (size_t d = 0; d < box.begin.size(); ++d) {
    const int64_t end = box.begin[d] + box.extent[d];
    const int64_t cut_end = cut.begin[d] + cut.extent[d];
    if (box.begin[d] < cut.begin[d]) {
      PieceBox before = box;
      before.extent[d] = cut.begin[d] - box.begin[d];
      out->push_back(std::move(before));
    }
    if (cut_end < end) {
      PieceBox after = box;
      after.begin[d] = cut_end;
      after.extent[d] = end - cut_end;
      out->push_back(std::move(after));
    }
    const int64_t begin = std::max(box.begin[d], cut.begin[d]);
    box.extent[d] = std::min(end, cut_end) - begin;
    box.begin[d] = begin;
  }
}

}  // namespace

std::optional<std::pair<size_t, size_t>> FindOverlap(const std::vector<PieceBox>& boxes,
                                                     PieceBudget* budget) {
  if (boxes.size() < 2) return std::nullopt;
  if (boxes[0].begin.empty()) return std::pair<size_t, size_t>{0, 1};
  const size_t dim = SweepDim(boxes);
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return boxes[a].begin[dim] < boxes[b].begin[dim]; });
  std::vector<size_t> open;  // boxes that reach to where the sweep is
  for (const size_t next : order) {
    std::erase_if(open, [&](size_t i) {
      return boxes[i].begin[dim] + boxes[i].extent[dim] <= boxes[next].begin[dim];
    });
    if (!budget->Charge(static_cast<int64_t>(open.size()))) return std::nullopt;
    for (const size_t i : open) {
      if (Meet(boxes[i], boxes[next])) return std::minmax(i, next);
    }
    open.push_back(next);
  }
  return std::nullopt;
}

std::vector<PieceBox> Uncovered(const std::vector<int64_t>& shape,
                                const std::vector<PieceBox>& boxes, PieceBudget* budget) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return {};
  std::vector<PieceBox> left = {{std::vector<int64_t>(shape.size(), 0), shape}};
  for (const PieceBox& box : boxes) {
    std::vector<PieceBox> next;
    if (!budget->Charge(static_cast<int64_t>(left.size()))) return {};
    for (PieceBox& part : left) Subtract(std::move(part), box, &next);
    left = std::move(next);
  }
  return left;
}

}  // namespace reshard
