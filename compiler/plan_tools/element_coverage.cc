#include "compiler/plan_tools/element_coverage.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace reshard {
namespace {

using Id = ContentIds::Id;
using Boxes = std::vector<const CoveredBox*>;

// Boxes and ranges that one comparison looks at.
constexpr size_t kMaxSteps = size_t{1} << 22;

struct Range {
  int64_t begin = 0, end = 0;
};

int64_t CopiesOf(const Boxes& boxes) {
  int64_t copies = 0;
  for (const CoveredBox* box : boxes) copies += box->copies;
  return copies;
}

class Comparison {
 public:
  Comparison(size_t axes, size_t loop_axes, const ContentIds& ids)
      : axes_(axes), loop_axes_(loop_axes), ids_(ids) {}

  CoverageChange Run(const Boxes& before, const Boxes& after) {
    const CoverageChange change = From(0, before, after);
    return known_ ? change : CoverageChange{false};
  }

 private:
  // Counts steps; false when they are too many.
  bool Charge(size_t steps) {
    known_ = known_ && steps <= kMaxSteps - steps_;
    if (known_) steps_ += steps;
    return known_;
  }

  // Compares boxes that have the same indices along the axes before `axis`.
  CoverageChange From(size_t axis, const Boxes& before, const Boxes& after) {
    CoverageChange change;
    if (!Charge(before.size() + after.size()) || before.empty()) return change;
    if (axis == axes_) {
      const int64_t left = CopiesOf(after);
      change.lost = left == 0 ? 1 : 0;
      change.fewer = left < CopiesOf(before) ? 1 : 0;
      change.lost_elements = left == 0 ? 1 : 0;
      return change;
    }
    for (const auto& [sets, indices] : Cut(axis, before, after)) {
      const auto chosen = [&, &chosen_sets = sets](const Boxes& boxes) {
        Boxes found;
        for (const CoveredBox* box : boxes) {
          const bool has =
              std::binary_search(chosen_sets.begin(), chosen_sets.end(), box->axes[axis]);
          if (has) found.push_back(box);
        }
        return found;
      };
      const CoverageChange part = From(axis + 1, chosen(before), chosen(after));
      const bool loop = axis < loop_axes_;
      change.lost = loop ? change.lost + indices * part.lost : std::max(change.lost, part.lost);
      change.fewer =
          loop ? change.fewer + indices * part.fewer : std::max(change.fewer, part.fewer);
      change.lost_elements += static_cast<ElementCount>(indices) * part.lost_elements;
    }
    return change;
  }

  // The indices of an axis by the index sets (rising) that have them: how many there are.
  std::map<std::vector<Id>, int64_t> Cut(size_t axis, const Boxes& before, const Boxes& after) {
    std::set<Id> sets;
    for (const Boxes* boxes : {&before, &after}) {
      for (const CoveredBox* box : *boxes) sets.insert(box->axes[axis]);
    }
    std::map<int64_t, std::vector<std::pair<Id, bool>>> ends;  // and whether it begins there
    for (const Id set : sets) {
      for (const Range& range : RangesOf(set)) {
        ends[range.begin].emplace_back(set, true);
        ends[range.end].emplace_back(set, false);
      }
    }
    std::map<std::vector<Id>, int64_t> cut;
    std::set<Id> open;
    int64_t from = 0;
    for (const auto& [at, changes] : ends) {
      if (!Charge(open.size() + changes.size())) return {};
      if (!open.empty()) cut[{open.begin(), open.end()}] += at - from;
      for (const auto& [set, begins] : changes) {
        if (begins) {
          open.insert(set);
        } else {
          open.erase(set);
        }
      }
      from = at;
    }
    return cut;
  }

  // The ranges of an index set, apart and rising; none when they are too many.
  const std::vector<Range>& RangesOf(Id set) {
    const auto [found, is_new] = ranges_.try_emplace(set);
    std::vector<Range>& ranges = found->second;
    if (!is_new) return ranges;
    const std::span<const int64_t> words = ids_.WordsOf(set);
    ranges = {{words[0], words[0] + 1}};
    for (size_t i = words.size(); i > 1; i -= 2) {  // the lightest digit first
      const int64_t weight = words[i - 2], extent = words[i - 1];
      if (ranges.size() == 1 && ranges[0].end - ranges[0].begin == weight) {
        ranges[0].end += (extent - 1) * weight;
        continue;
      }
      const size_t most = (kMaxSteps - steps_) / ranges.size();
      if (static_cast<uint64_t>(extent) > most ||
          !Charge(ranges.size() * static_cast<size_t>(extent))) {
        known_ = false;
        ranges.clear();
        return ranges;
      }
      const std::vector<Range> lighter = std::move(ranges);
      ranges.clear();
      for (int64_t k = 0; k < extent; ++k) {
        for (const Range& range : lighter) {
          ranges.push_back({range.begin + k * weight, range.end + k * weight});
        }
      }
    }
    return ranges;
  }

  size_t axes_, loop_axes_;
  const ContentIds& ids_;
  std::map<Id, std::vector<Range>> ranges_;
  size_t steps_ = 0;
  bool known_ = true;
};

Boxes PointersTo(const std::vector<CoveredBox>& boxes) {
  Boxes pointers;
  for (const CoveredBox& box : boxes) pointers.push_back(&box);
  return pointers;
}

}  // namespace

CoverageChange CompareCoverage(const std::vector<CoveredBox>& before,
                               const std::vector<CoveredBox>& after, size_t loop_axes,
                               const ContentIds& ids) {
  if (before.empty()) return {};
  return Comparison(before[0].axes.size(), loop_axes, ids)
      .Run(PointersTo(before), PointersTo(after));
}

}  // namespace reshard
