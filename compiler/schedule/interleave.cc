#include "compiler/schedule/interleave.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/schedule/slices.h"

namespace reshard {
namespace {

// A place in a line of class bytes that only moves forward.
class Cursor {
 public:
  Cursor(const ClassCuts& cuts, const std::vector<ClassRange>& bytes)
      : cuts_(cuts), bytes_(bytes) {}

  // Goes to the last permitted cut at or below `at_bytes` of the line, never back. Appends what it
  // passes to `passed`, which may be null.
  void GoTo(int64_t at_bytes, std::vector<ClassRange>* passed) {
    while (range_ < bytes_.size()) {
      const ClassRange& range = bytes_[range_];
      const int64_t wanted = at_bytes - range_begin_;
      int64_t end = range.extent;
      if (wanted < end) {
        end = std::max(cuts_.Floor(range.cls, range.begin + std::max<int64_t>(wanted, 0)),
                       range.begin) -
              range.begin;
      }
      if (end > done_) {
        if (passed != nullptr) passed->push_back({range.cls, range.begin + done_, end - done_});
        done_ = end;
      }
      if (done_ < range.extent) return;
      range_begin_ += range.extent;
      ++range_;
      done_ = 0;
    }
  }

 private:
  const ClassCuts& cuts_;
  const std::vector<ClassRange>& bytes_;
  size_t range_ = 0;
  int64_t range_begin_ = 0;  // on the line
  int64_t done_ = 0;         // of the range
};

// Where the ranges of a line of class bytes end.
class RangeEnds {
 public:
  explicit RangeEnds(const std::vector<ClassRange>& bytes) {
    for (const ClassRange& range : bytes) ends_.push_back(ends_.back() + range.extent);
  }

  // Where part `part` of so many equal ones ends, or a range close to that.
  int64_t EndOfPart(int64_t part, int64_t part_count) const {
    const int64_t total = ends_.back();
    const int64_t target = Portion(total, part, part_count);
    auto end = std::lower_bound(ends_.begin(), ends_.end(), target);
    if (end != ends_.begin() && target - *(end - 1) < *end - target) --end;
    return std::abs(*end - target) <= total / part_count / 2 ? *end : target;
  }

 private:
  std::vector<int64_t> ends_ = {0};
};

}  // namespace

uint32_t LaneCount(const Ports& ports, const RoutedStream& stream, int64_t busy_ps) {
  if (stream.local) return 1;
  // Time that the heads take for all their bytes when one source sends at a time, and at their own
  // rate.
  int64_t one_by_one_ps = 0, together_ps = 0;
  for (const RoutedTree& tree : stream.trees) {
    const int64_t head_rate = ports.outlet(ports.outlet_of_rank(tree.landers[0])).bytes_per_s;
    for (const SourceRange& source : tree.sources) {
      const bool hands_over = ports.SameDomain(source.source, tree.landers[0]);
      const int64_t rate =
          hands_over ? head_rate : ports.outlet(ports.outlet_of_rank(source.source)).bytes_per_s;
      one_by_one_ps += PicosecondsFor(source.range.extent, std::min(rate, head_rate));
      together_ps += PicosecondsFor(source.range.extent, head_rate);
    }
  }
  together_ps = std::max(together_ps, busy_ps * static_cast<int64_t>(stream.trees.size()));
  // A tenth more than a whole number of sources is not worth another lane.
  if (together_ps == 0) return 1;
  const int64_t lanes = (10 * one_by_one_ps / together_ps + 8) / 10;
  return static_cast<uint32_t>(std::clamp<int64_t>(lanes, 1, kFewSourcesPerSlice));
}

std::vector<ClassRange> InterleaveLanes(const ClassCuts& cuts, const std::vector<ClassRange>& bytes,
                                        uint32_t lane_count, int64_t chunk_count) {
  int64_t total = 0;
  for (const ClassRange& range : bytes) total += range.extent;
  const auto line_at = [&](int64_t lane, int64_t chunk) {
    return Portion(total, lane * chunk_count + chunk, lane_count * chunk_count);
  };
  std::vector<Cursor> lanes(lane_count, Cursor(cuts, bytes));
  for (uint32_t lane = 0; lane < lane_count; ++lane) lanes[lane].GoTo(line_at(lane, 0), nullptr);
  std::vector<ClassRange> result;
  for (int64_t chunk = 1; chunk <= chunk_count; ++chunk) {
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      lanes[lane].GoTo(line_at(lane, chunk), &result);
    }
  }
  return result;
}

std::vector<ClassRange> SpreadEvenly(const ClassCuts& cuts, const std::vector<ClassRange>& bytes,
                                     const std::vector<ClassRange>& others, int64_t run_count) {
  const RangeEnds ends(bytes), other_ends(others);
  std::vector<ClassRange> result;
  Cursor at(cuts, bytes), other_at(cuts, others);
  for (int64_t run = 1; run <= run_count; ++run) {
    at.GoTo(ends.EndOfPart(run, run_count), &result);
    other_at.GoTo(other_ends.EndOfPart(run, run_count), &result);
  }
  return result;
}

std::vector<ClassRange> TakeTurns(const ClassCuts& cuts,
                                  const std::vector<std::vector<ClassRange>>& lines,
                                  int64_t run_count) {
  std::vector<RangeEnds> ends;
  std::vector<Cursor> at;
  for (const std::vector<ClassRange>& line : lines) {
    ends.emplace_back(line);
    at.emplace_back(cuts, line);
  }
  std::vector<ClassRange> result;
  for (int64_t run = 1; run <= run_count; ++run) {
    for (size_t i = 0; i < lines.size(); ++i)
      at[i].GoTo(ends[i].EndOfPart(run, run_count), &result);
  }
  return result;
}

}  // namespace reshard
