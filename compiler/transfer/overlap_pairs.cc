#include "compiler/transfer/overlap_pairs.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "compiler/transfer/intervals.h"

namespace reshard {
namespace {

// Below this many pairs a comparison of all is the quickest way.
constexpr size_t kFewPairs = 256;

// Boxes of both lists that may overlap each other.
struct Group {
  std::vector<uint32_t> a, b;
};

// The boxes of one list in a group, sorted by begin along one dim.
struct Sorted {
  std::vector<uint32_t> boxes;
  std::vector<int64_t> begins;
};

Sorted SortAlong(const BoxList& list, const std::vector<uint32_t>& boxes, size_t dim) {
  Sorted sorted;
  sorted.boxes = boxes;
  std::sort(sorted.boxes.begin(), sorted.boxes.end(), [&](uint32_t x, uint32_t y) {
    const int64_t begin_x = list[x][dim].begin;
    const int64_t begin_y = list[y][dim].begin;
    return begin_x != begin_y ? begin_x < begin_y : x < y;
  });
  for (const uint32_t box : sorted.boxes) sorted.begins.push_back(list[box][dim].begin);
  return sorted;
}

// Positions of `sorted` whose begin lies in [first, end).
std::pair<size_t, size_t> BeginsIn(const Sorted& sorted, int64_t first, int64_t end) {
  const auto low = std::lower_bound(sorted.begins.begin(), sorted.begins.end(), first);
  const auto high = std::lower_bound(low, sorted.begins.end(), end);
  return {static_cast<size_t>(low - sorted.begins.begin()),
          static_cast<size_t>(high - sorted.begins.begin())};
}

// The pairs that overlap along one dim, as runs of positions in the sorted other list.
struct Sweeping {
  Sorted a, b;
  std::vector<std::pair<size_t, size_t>> a_runs;  // per box of group.a, of positions in b
  std::vector<std::pair<size_t, size_t>> b_runs;  // per box of group.b, of positions in a
  size_t pair_count = 0;
};

class PairFinder {
 public:
  PairFinder(const BoxList& a, const BoxList& b, WorkBudget* budget, std::vector<BoxPair>* out)
      : a_(a), b_(b), budget_(budget), out_(out) {}

  bool Run() {
    Group all;
    all.a.resize(a_.count());
    all.b.resize(b_.count());
    std::iota(all.a.begin(), all.a.end(), 0U);
    std::iota(all.b.begin(), all.b.end(), 0U);
    groups_.push_back(std::move(all));
    while (!groups_.empty()) {
      const Group group = std::move(groups_.back());
      groups_.pop_back();
      if (group.a.empty() || group.b.empty()) continue;
      if (!budget_->Spend(group.a.size() + group.b.size())) return false;
      if (a_.dim_count() == 0 || group.a.size() * group.b.size() <= kFewPairs) {
        CompareAll(group);
      } else if (!SplitByDims(group) && !Sweep(group)) {
        return false;
      }
    }
    std::sort(out_->begin(), out_->end());
    return true;
  }

 private:
  void Test(uint32_t i, uint32_t j) {
    if (BoxesOverlap(a_[i], b_[j])) out_->emplace_back(i, j);
  }

  void CompareAll(const Group& group) {
    for (const uint32_t i : group.a) {
      for (const uint32_t j : group.b) Test(i, j);
    }
  }

  bool SplitByDims(const Group& group) {
    std::vector<IntervalItem> intervals;
    for (size_t dim = 0; dim < a_.dim_count(); ++dim) {
      intervals.clear();
      // Items of b are numbered behind those of a.
      for (size_t i = 0; i < group.a.size(); ++i) {
        const BoxDim& range = a_[group.a[i]][dim];
        intervals.push_back({range.begin, range.end(), static_cast<uint32_t>(i)});
      }
      for (size_t j = 0; j < group.b.size(); ++j) {
        const BoxDim& range = b_[group.b[j]][dim];
        intervals.push_back({range.begin, range.end(), static_cast<uint32_t>(group.a.size() + j)});
      }
      const std::vector<size_t> starts = IntervalComponents(&intervals);
      if (starts.size() == 1) continue;
      for (size_t c = 0; c < starts.size(); ++c) {
        const size_t end = c + 1 < starts.size() ? starts[c + 1] : intervals.size();
        Group part;
        for (size_t i = starts[c]; i < end; ++i) {
          const uint32_t item = intervals[i].item;
          if (item < group.a.size()) {
            part.a.push_back(group.a[item]);
          } else {
            part.b.push_back(group.b[item - group.a.size()]);
          }
        }
        groups_.push_back(std::move(part));
      }
      return true;
    }
    return false;
  }

  // Takes the dim along which the fewest pairs overlap and tests those.
  bool Sweep(const Group& group) {
    Sweeping best = SweepAlong(group, 0);
    for (size_t dim = 1; dim < a_.dim_count(); ++dim) {
      Sweeping next = SweepAlong(group, dim);
      if (next.pair_count < best.pair_count) best = std::move(next);
    }
    if (!budget_->Spend(best.pair_count)) return false;
    for (size_t i = 0; i < group.a.size(); ++i) {
      const auto [first, end] = best.a_runs[i];
      for (size_t j = first; j < end; ++j) Test(group.a[i], best.b.boxes[j]);
    }
    for (size_t j = 0; j < group.b.size(); ++j) {
      const auto [first, end] = best.b_runs[j];
      for (size_t i = first; i < end; ++i) Test(best.a.boxes[i], group.b[j]);
    }
    return true;
  }

  // Of two intervals that overlap, one begins inside the other: each pair is found once, as a run
  // of boxes of the other list that begin inside (for equal begins: b's inside a's).
  Sweeping SweepAlong(const Group& group, size_t dim) const {
    Sweeping sweeping;
    sweeping.a = SortAlong(a_, group.a, dim);
    sweeping.b = SortAlong(b_, group.b, dim);
    for (const uint32_t i : group.a) {
      const BoxDim& range = a_[i][dim];
      sweeping.a_runs.push_back(BeginsIn(sweeping.b, range.begin, range.end()));
    }
    for (const uint32_t j : group.b) {
      const BoxDim& range = b_[j][dim];
      sweeping.b_runs.push_back(BeginsIn(sweeping.a, range.begin + 1, range.end()));
    }
    for (const auto& [first, end] : sweeping.a_runs) sweeping.pair_count += end - first;
    for (const auto& [first, end] : sweeping.b_runs) sweeping.pair_count += end - first;
    return sweeping;
  }

  const BoxList& a_;
  const BoxList& b_;
  WorkBudget* budget_;
  std::vector<BoxPair>* out_;
  std::vector<Group> groups_;
};

}  // namespace

bool OverlappingPairs(const BoxList& a, const BoxList& b, WorkBudget* budget,
                      std::vector<BoxPair>* out) {
  out->clear();
  return PairFinder(a, b, budget, out).Run();
}

}  // namespace reshard
