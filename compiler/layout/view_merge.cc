#include <algorithm>
#include <tuple>

#include "compiler/layout/view.h"

namespace reshard {
namespace {

bool HeavierFirst(const ViewDigit& a, const ViewDigit& b) {
  return std::tie(a.dim, b.dim_step, a.axis, b.axis_step, a.extent) <
         std::tie(b.dim, a.dim_step, b.axis, a.axis_step, b.extent);
}

// Sorts the digits and joins those of which the heavier continues the lighter.
void MergeDigits(std::vector<ViewDigit>* digits) {
  if (digits->size() < 2) return;
  std::sort(digits->begin(), digits->end(), HeavierFirst);
  for (size_t i = digits->size() - 1; i-- > 0;) {
    ViewDigit& heavy = (*digits)[i];
    const ViewDigit& light = (*digits)[i + 1];
    if (heavy.dim != light.dim || heavy.axis != light.axis) continue;
    if (heavy.dim_step != light.dim_step * light.extent) continue;
    if (heavy.axis_step != light.axis_step * light.extent) continue;
    heavy.dim_step = light.dim_step;
    heavy.axis_step = light.axis_step;
    heavy.extent *= light.extent;
    digits->erase(digits->begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

bool SameDigits(const ViewPiece& a, const ViewPiece& b) {
  return a.super == b.super && a.digits == b.digits;
}

// Orders pieces so that those that differ along `dim` only stand together, in rising position.
bool AlongDim(const ViewPiece& a, const ViewPiece& b, size_t dim) {
  if (a.super != b.super) return a.super < b.super;
  if (a.digits.size() != b.digits.size()) return a.digits.size() < b.digits.size();
  for (size_t i = 0; i < a.digits.size(); ++i) {
    if (a.digits[i] == b.digits[i]) continue;
    return std::tie(a.digits[i].extent, a.digits[i].dim, a.digits[i].dim_step, a.digits[i].axis,
                    a.digits[i].axis_step) < std::tie(b.digits[i].extent, b.digits[i].dim,
                                                      b.digits[i].dim_step, b.digits[i].axis,
                                                      b.digits[i].axis_step);
  }
  for (size_t d = 0; d < a.at.size(); ++d) {
    if (d != dim && a.at[d] != b.at[d]) return a.at[d] < b.at[d];
  }
  return a.at[dim] < b.at[dim];
}

// The step from one piece to another: along `dim` and along at most one axis, or none.
struct Step {
  bool possible = false;
  int64_t dim_step = 0;
  int32_t axis = -1;
  int64_t axis_step = 0;
  bool operator==(const Step&) const = default;
};
Step StepBetween(const ViewPiece& a, const ViewPiece& b, size_t dim) {
  Step step;
  if (!SameDigits(a, b)) return step;
  for (size_t d = 0; d < a.at.size(); ++d) {
    if (d != dim && a.at[d] != b.at[d]) return step;
  }
  step.dim_step = b.at[dim] - a.at[dim];
  for (size_t i = 0; i < a.begin.size(); ++i) {
    if (a.begin[i] == b.begin[i]) continue;
    if (step.axis >= 0) return step;
    step.axis = static_cast<int32_t>(i);
    step.axis_step = b.begin[i] - a.begin[i];
  }
  step.possible = step.dim_step > 0;
  return step;
}

// Joins runs of equal steps along `dim`. Returns whether any piece went away.
bool MergeAlong(size_t dim, std::vector<ViewPiece>* pieces) {
  std::sort(pieces->begin(), pieces->end(),
            [dim](const ViewPiece& a, const ViewPiece& b) { return AlongDim(a, b, dim); });
  std::vector<ViewPiece> merged;
  for (size_t i = 0; i < pieces->size();) {
    size_t end = i + 1;
    Step step;
    if (end < pieces->size()) step = StepBetween((*pieces)[i], (*pieces)[end], dim);
    if (step.possible) {
      while (end < pieces->size() && StepBetween((*pieces)[end - 1], (*pieces)[end], dim) == step) {
        ++end;
      }
    }
    merged.push_back(std::move((*pieces)[i]));
    if (end - i > 1) {
      merged.back().digits.push_back({static_cast<int64_t>(end - i), static_cast<uint32_t>(dim),
                                      step.dim_step, step.axis, step.axis_step});
      MergeDigits(&merged.back().digits);
    }
    i = end;
  }
  const bool fewer = merged.size() < pieces->size();
  *pieces = std::move(merged);
  return fewer;
}

}  // namespace

void MergePieces(View* view) {
  for (ViewPiece& piece : view->pieces) MergeDigits(&piece.digits);
  if (view->pieces.size() < 2) return;
  // Merging along one dim can make pieces equal that then merge along another.
  constexpr int kPasses = 4;
  bool again = true;
  for (int pass = 0; pass < kPasses && again && view->pieces.size() > 1; ++pass) {
    again = false;
    for (size_t d = 0; d < view->shape.size(); ++d) {
      if (MergeAlong(d, &view->pieces)) again = true;
    }
  }
  std::sort(view->pieces.begin(), view->pieces.end(),
            [](const ViewPiece& a, const ViewPiece& b) { return a.at < b.at; });
}

}  // namespace reshard
