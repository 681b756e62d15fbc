#include "compiler/transfer/partition.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/transfer/intervals.h"

namespace reshard {
namespace {

// Up to this many boxes are compared pair by pair before any of them is cut.
constexpr size_t kMaxPairwise = 64;

// What is left of a given box inside the region being looked at.
struct Fragment {
  uint32_t box = 0;    // in the work list
  uint32_t input = 0;  // the given box
};
using Region = std::vector<Fragment>;

struct Cut {
  size_t dim = 0;
  int64_t at = 0;
};

class Partitioner {
 public:
  Partitioner(const BoxList& boxes, WorkBudget* budget)
      : work_(boxes), atoms_(boxes.dim_count()), budget_(budget) {}

  bool Run() {
    Region all(work_.count());
    for (uint32_t i = 0; i < work_.count(); ++i) all[i] = {i, i};
    if (!all.empty()) regions_.push_back(std::move(all));
    while (!regions_.empty()) {
      const Region region = std::move(regions_.back());
      regions_.pop_back();
      if (!budget_->Spend(region.size())) return false;
      if (Finish(region) || SplitByDims(region) || SplitByPairs(region)) continue;
      CutRegion(region);
    }
    return true;
  }

  void TakeResult(Partition* out);

 private:
  // All fragments are the same box: it is an atom.
  bool Finish(const Region& region) {
    for (const Fragment& fragment : region) {
      if (!BoxesEqual(work_[fragment.box], work_[region[0].box])) return false;
    }
    std::vector<uint32_t> cover;
    cover.reserve(region.size());
    for (const Fragment& fragment : region) cover.push_back(fragment.input);
    std::sort(cover.begin(), cover.end());
    atoms_.Add(work_[region[0].box]);
    covers_.push_back(std::move(cover));
    return true;
  }

  // Along some dim the fragments fall apart into groups that do not touch.
  bool SplitByDims(const Region& region) {
    std::vector<IntervalItem> intervals(region.size());
    for (size_t dim = 0; dim < work_.dim_count(); ++dim) {
      for (uint32_t i = 0; i < region.size(); ++i) {
        const BoxDim& range = work_[region[i].box][dim];
        intervals[i] = {range.begin, range.end(), i};
      }
      const std::vector<size_t> starts = IntervalComponents(&intervals);
      if (starts.size() == 1) continue;
      for (size_t c = 0; c < starts.size(); ++c) {
        const size_t end = c + 1 < starts.size() ? starts[c + 1] : intervals.size();
        Region part;
        part.reserve(end - starts[c]);
        for (size_t i = starts[c]; i < end; ++i) part.push_back(region[intervals[i].item]);
        regions_.push_back(std::move(part));
      }
      return true;
    }
    return false;
  }

  // Disjoint boxes that no plane separates, as in a pinwheel.
  bool SplitByPairs(const Region& region) {
    if (region.size() > kMaxPairwise) return false;
    std::vector<size_t> leader(region.size());
    std::iota(leader.begin(), leader.end(), size_t{0});
    for (size_t i = 0; i < region.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (leader[j] == leader[i]) continue;
        if (!BoxesOverlap(work_[region[i].box], work_[region[j].box])) continue;
        const size_t from = std::max(leader[i], leader[j]);
        const size_t to = std::min(leader[i], leader[j]);
        std::replace(leader.begin(), leader.end(), from, to);
      }
    }
    std::map<size_t, Region> parts;
    for (size_t i = 0; i < region.size(); ++i) parts[leader[i]].push_back(region[i]);
    if (parts.size() == 1) return false;
    for (auto& [unused_leader, part] : parts) regions_.push_back(std::move(part));
    return true;
  }

  // Few fragments cut, halves of about equal size.
  Cut ChooseCut(const Region& region) const {
    Cut best;
    size_t best_cost = SIZE_MAX;
    std::vector<int64_t> begins(region.size()), ends(region.size());
    for (size_t dim = 0; dim < work_.dim_count(); ++dim) {
      for (size_t i = 0; i < region.size(); ++i) {
        begins[i] = work_[region[i].box][dim].begin;
        ends[i] = work_[region[i].box][dim].end();
      }
      std::sort(begins.begin(), begins.end());
      std::sort(ends.begin(), ends.end());
      std::vector<int64_t> points;
      std::set_union(begins.begin(), begins.end(), ends.begin(), ends.end(),
                     std::back_inserter(points));
      for (const int64_t at : points) {
        if (at == begins.front() || at == ends.back()) continue;
        const size_t begun = static_cast<size_t>(
            std::lower_bound(begins.begin(), begins.end(), at) - begins.begin());
        const size_t ended =
            static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
        const size_t right = region.size() - ended;
        const size_t crossing = begun - ended;
        const size_t cost = 2 * crossing + std::max(begun, right) - std::min(begun, right);
        if (cost < best_cost) {
          best_cost = cost;
          best = {dim, at};
        }
      }
    }
    return best;
  }

  void CutRegion(const Region& region) {
    any_cut_ = true;
    const Cut cut = ChooseCut(region);
    Region left, right;
    for (const Fragment& fragment : region) {
      const BoxDim range = work_[fragment.box][cut.dim];
      if (range.end() <= cut.at) {
        left.push_back(fragment);
      } else if (range.begin >= cut.at) {
        right.push_back(fragment);
      } else {
        const std::vector<BoxDim> copy(work_[fragment.box].begin(), work_[fragment.box].end());
        const uint32_t rest = work_.Add(copy);
        work_.Mutable(rest)[cut.dim] = {cut.at, range.end() - cut.at};
        work_.Mutable(fragment.box)[cut.dim].extent = cut.at - range.begin;
        left.push_back(fragment);
        right.push_back({rest, fragment.input});
      }
    }
    regions_.push_back(std::move(left));
    regions_.push_back(std::move(right));
  }

  BoxList work_;  // the given boxes, cut in place; further fragments behind them
  BoxList atoms_;
  std::vector<std::vector<uint32_t>> covers_;  // per atom
  std::vector<Region> regions_;                // still to be looked at
  WorkBudget* budget_;
  bool any_cut_ = false;
};

void Partitioner::TakeResult(Partition* out) {
  std::map<std::vector<uint32_t>, BoxList> by_cover;
  for (uint32_t atom = 0; atom < atoms_.count(); ++atom) {
    const auto entry =
        by_cover.try_emplace(std::move(covers_[atom]), BoxList(atoms_.dim_count())).first;
    entry->second.Add(atoms_[atom]);
  }
  BoxList atoms(atoms_.dim_count());
  std::vector<uint32_t> covers;
  for (auto& [cover, boxes] : by_cover) {
    const BoxList merged = boxes.count() > 1 ? MergeBoxes(boxes) : std::move(boxes);
    for (uint32_t box = 0; box < merged.count(); ++box) {
      atoms.Add(merged[box]);
      covers.push_back(static_cast<uint32_t>(out->cover_sets.size()));
    }
    out->cover_sets.push_back(cover);
  }
  std::vector<uint32_t> order(atoms.count());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return BoxLess(atoms[a], atoms[b]); });
  for (const uint32_t atom : order) {
    out->atoms.Add(atoms[atom]);
    out->atom_cover.push_back(covers[atom]);
  }
  out->any_cut = any_cut_;
}

}  // namespace

bool PartitionBoxes(const BoxList& boxes, WorkBudget* budget, Partition* out) {
  *out = Partition{};
  out->atoms = BoxList(boxes.dim_count());
  Partitioner partitioner(boxes, budget);
  if (!partitioner.Run()) return false;
  partitioner.TakeResult(out);
  return true;
}

}  // namespace reshard
