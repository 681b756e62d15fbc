#include "compiler/transfer/intervals.h"

#include <algorithm>
#include <limits>

namespace reshard {

std::vector<size_t> IntervalComponents(std::vector<IntervalItem>* intervals) {
  std::sort(intervals->begin(), intervals->end(), [](const IntervalItem& a, const IntervalItem& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.item < b.item;
  });
  std::vector<size_t> starts;
  int64_t end = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < intervals->size(); ++i) {
    if (starts.empty() || (*intervals)[i].begin >= end) starts.push_back(i);
    end = std::max(end, (*intervals)[i].end);
  }
  return starts;
}

}  // namespace reshard
