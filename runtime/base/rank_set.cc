#include "runtime/base/rank_set.h"

#include <algorithm>
#include <iterator>

namespace reshard {
namespace {

// A plain run of `count` ranks from ranks[begin], `stride` apart.
struct FlatRun {
  uint32_t start;
  uint32_t count;
  uint32_t stride;
};

std::vector<FlatRun> FlatRuns(const RankList& ranks) {
  std::vector<FlatRun> runs;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    uint32_t stride = 1;
    if (i + 1 < ranks.size()) {
      stride = ranks[i + 1] - ranks[i];
      while (last + 1 < ranks.size() && ranks[last + 1] - ranks[last] == stride) ++last;
      // Two ranks far apart are no run: the second may start a longer one.
      if (last == i + 1 && stride != 1) {
        last = i;
        stride = 1;
      }
    }
    runs.push_back({ranks[i], static_cast<uint32_t>(last - i + 1), stride});
    i = last + 1;
  }
  return runs;
}

}  // namespace

std::vector<RankRun> CompressRanks(const RankList& ranks) {
  std::vector<RankRun> runs;
  const std::vector<FlatRun> flat = FlatRuns(ranks);
  for (size_t i = 0; i < flat.size();) {
    RankRun run{flat[i].start, flat[i].count, flat[i].stride, 1, 1};
    size_t last = i;
    if (i + 1 < flat.size()) {
      const uint32_t outer = flat[i + 1].start - flat[i].start;
      while (last + 1 < flat.size() && flat[last + 1].count == run.count &&
             flat[last + 1].stride == run.stride &&
             flat[last + 1].start - flat[last].start == outer) {
        ++last;
      }
      if (last > i) {
        run.outer_count = static_cast<uint32_t>(last - i + 1);
        run.outer_stride = outer;
      }
    }
    runs.push_back(run);
    i = last + 1;
  }
  return runs;
}

RankList ExpandRuns(const std::vector<RankRun>& runs) {
  RankList ranks;
  for (const RankRun& run : runs) {
    for (uint32_t j = 0; j < run.outer_count; ++j) {
      for (uint32_t i = 0; i < run.count; ++i) {
        ranks.push_back(run.start + j * run.outer_stride + i * run.stride);
      }
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::string DescribeRanks(const RankList& ranks) {
  constexpr size_t kMaxText = 48;
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    std::string part = std::to_string(ranks[i]);
    if (last > i) part += (last == i + 1 ? "," : "-") + std::to_string(ranks[last]);
    if (!text.empty()) text += ",";
    if (text.size() + part.size() > kMaxText) {
      return text + "..., " + std::to_string(ranks.back()) + " (" + std::to_string(ranks.size()) +
             " ranks)";
    }
    text += part;
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

bool Contains(const RankList& set, Rank rank) {
  return std::binary_search(set.begin(), set.end(), rank);
}

bool IsSubset(const RankList& subset, const RankList& set) {
  return std::includes(set.begin(), set.end(), subset.begin(), subset.end());
}

RankList Union(const RankList& a, const RankList& b) {
  RankList out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

RankList Intersection(const RankList& a, const RankList& b) {
  RankList out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

RankList Difference(const RankList& a, const RankList& b) {
  RankList out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

RankSetId RankSetTable::Intern(const RankList& ranks) {
  const auto [place, added] = ids_.try_emplace(ranks, static_cast<RankSetId>(sets_.size()));
  if (added) sets_.push_back(ranks);
  return place->second;
}

}  // namespace reshard
