#include "compiler/schedule/slices.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "runtime/base/check.h"
#include "runtime/plan/plan.h"

namespace reshard {
namespace {

// Finds stream positions of class bytes, and class bytes at stream positions.
class StreamMap {
 public:
  explicit StreamMap(const RoutedStream& stream) : bytes_(stream.bytes) {
    int64_t begin = 0;
    for (const ClassRange& range : bytes_) {
      begin_.push_back(begin);
      begin += range.extent;
    }
    by_class_.resize(bytes_.size());
    std::iota(by_class_.begin(), by_class_.end(), 0U);
    std::sort(by_class_.begin(), by_class_.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(bytes_[a].cls, bytes_[a].begin) <
             std::tuple(bytes_[b].cls, bytes_[b].begin);
    });
  }

  // Appends where `range`, perhaps in several pieces, lies in the stream.
  void AppendRuns(const SourceRange& source, std::vector<SourceRun>* runs) const {
    const ClassRange& range = source.range;
    auto at = std::upper_bound(by_class_.begin(), by_class_.end(), range,
                               [&](const ClassRange& key, uint32_t piece) {
                                 return std::tuple(key.cls, key.begin) <
                                        std::tuple(bytes_[piece].cls, bytes_[piece].begin);
                               });
    int64_t done = 0;
    if (at != by_class_.begin()) --at;
    for (; done < range.extent && at != by_class_.end(); ++at) {
      const ClassRange& piece = bytes_[*at];
      const int64_t from = range.begin + done;
      if (piece.cls != range.cls || from < piece.begin) break;
      const int64_t to = std::min(range.begin + range.extent, piece.begin + piece.extent);
      if (to <= from) continue;
      runs->push_back({begin_[*at] + from - piece.begin, to - from, source.source});
      done += to - from;
    }
    RESHARD_CHECK(done == range.extent, "a tree's source range lies outside its stream");
  }

  // The last permitted cut in (after, at], or else the first one above.
  int64_t Cut(const ClassCuts& cuts, int64_t after, int64_t at) const {
    const auto next = std::upper_bound(begin_.begin(), begin_.end(), at);
    const auto i = static_cast<size_t>(next - begin_.begin()) - 1;
    const ClassRange& piece = bytes_[i];
    const int64_t in_class = piece.begin + at - begin_[i];
    const int64_t floor = std::max(cuts.Floor(piece.cls, in_class), piece.begin);
    const int64_t cut = begin_[i] + floor - piece.begin;
    if (cut > after) return cut;
    const int64_t above = std::min(cuts.Ceil(piece.cls, in_class + 1), piece.begin + piece.extent);
    return begin_[i] + above - piece.begin;
  }

 private:
  const std::vector<ClassRange>& bytes_;
  std::vector<int64_t> begin_;      // per piece, in the stream
  std::vector<uint32_t> by_class_;  // pieces by (class, begin)
};

std::vector<SourceRun> MergedRuns(std::vector<SourceRun> runs) {
  std::sort(runs.begin(), runs.end(),
            [](const SourceRun& a, const SourceRun& b) { return a.begin < b.begin; });
  std::vector<SourceRun> merged;
  int64_t end = 0;
  for (const SourceRun& run : runs) {
    RESHARD_CHECK(run.begin == end, "the sources of a tree do not cover its stream once");
    end += run.extent;
    if (!merged.empty() && merged.back().source == run.source) {
      merged.back().extent += run.extent;
    } else {
      merged.push_back(run);
    }
  }
  return merged;
}

class SliceCutter {
 public:
  SliceCutter(const StreamMap& map, const ClassCuts& cuts, const Ports& ports,
              const SliceLimits& limits, ScheduledTree* tree)
      : map_(map),
        cuts_(cuts),
        ports_(ports),
        limits_(limits),
        tree_(*tree),
        slice_bytes_(limits.slice_bytes[tree->stream]) {}

  void Run() {
    tree_.slices.clear();
    tree_.portions.clear();
    for (const SourceRun& run : tree_.runs) {
      if (limits_.own_slices && run.extent > slice_bytes_ / 2) {
        CutEvenly(run);
        continue;
      }
      int64_t begin = run.begin;
      while (begin < run.begin + run.extent) {
        if (!CanTake(run.source)) Close();
        const int64_t room_end =
            begin + std::min(slice_bytes_ - open_bytes_, PortionBytes(run.source));
        int64_t end = run.begin + run.extent;
        if (room_end < end) end = std::min(end, map_.Cut(cuts_, begin, room_end));
        tree_.portions.push_back({begin, end - begin, run.source});
        open_bytes_ += end - begin;
        begin = end;
        // A rest too small to be cut again is not worth a portion.
        if (open_bytes_ + kCutAlignBytes > slice_bytes_) Close();
      }
    }
    Close();
  }

 private:
  int64_t PortionBytes(Rank source) const {
    if (tree_.local) return slice_bytes_;
    return (tree_.carried ? limits_.hand_over_bytes : limits_.portion_bytes)[ports_.site(source)];
  }

  // One message per source and slice.
  bool CanTake(Rank source) const {
    const size_t open = tree_.portions.size() - first_;
    if (open == limits_.sources) return false;
    return std::none_of(tree_.portions.begin() + first_, tree_.portions.end(),
                        [&](const SourceRun& portion) { return portion.source == source; });
  }

  // Into equal slices without other sources.
  void CutEvenly(const SourceRun& run) {
    Close();
    const int64_t most = std::min(slice_bytes_, PortionBytes(run.source));
    const int64_t count = (run.extent + most - 1) / most;
    int64_t begin = run.begin;
    for (int64_t i = 1; i <= count && begin < run.begin + run.extent; ++i) {
      int64_t end = run.begin + Portion(run.extent, i, count);
      if (i < count) end = std::min(run.begin + run.extent, map_.Cut(cuts_, begin, end));
      if (end <= begin) continue;
      tree_.portions.push_back({begin, end - begin, run.source});
      open_bytes_ = end - begin;
      begin = end;
      Close();
    }
  }

  void Close() {
    const auto end = static_cast<uint32_t>(tree_.portions.size());
    if (end == first_) return;
    tree_.slices.push_back({first_, end - first_, open_bytes_});
    first_ = end;
    open_bytes_ = 0;
  }

  const StreamMap& map_;
  const ClassCuts& cuts_;
  const Ports& ports_;
  const SliceLimits& limits_;
  ScheduledTree& tree_;
  int64_t slice_bytes_;
  uint32_t first_ = 0;  // portion of the slice that is being filled
  int64_t open_bytes_ = 0;
};

}  // namespace

std::vector<ScheduledTree> MakeTrees(const Routing& routing, const Ports& ports) {
  std::vector<ScheduledTree> trees;
  for (uint32_t s = 0; s < routing.streams.size(); ++s) {
    const RoutedStream& stream = routing.streams[s];
    const StreamMap map(stream);
    for (const RoutedTree& routed : stream.trees) {
      ScheduledTree& tree = trees.emplace_back();
      tree.stream = s;
      tree.kind = routed.kind;
      tree.members = routed.landers;
      tree.local = IsInsideRank(stream);
      tree.carried = !tree.local && ports.SameDomain(routed.sources[0].source, routed.landers[0]);
      std::vector<SourceRun> runs;
      for (const SourceRange& source : routed.sources) map.AppendRuns(source, &runs);
      tree.runs = MergedRuns(std::move(runs));
      tree.bytes = tree.runs.back().begin + tree.runs.back().extent;
    }
  }
  return trees;
}

void CutSlices(const Routing& routing, const ClassCuts& cuts, const Ports& ports,
               const SliceLimits& limits, std::vector<ScheduledTree>* trees) {
  size_t next = 0;
  for (uint32_t s = 0; s < routing.streams.size(); ++s) {
    const StreamMap map(routing.streams[s]);
    for (; next < trees->size() && (*trees)[next].stream == s; ++next) {
      SliceCutter(map, cuts, ports, limits, &(*trees)[next]).Run();
    }
  }
}

}  // namespace reshard
