#include "compiler/route/overlay.h"

#include <algorithm>

namespace reshard {

std::vector<OverlaidRun> Overlay(const std::vector<std::vector<int64_t>>& divisions) {
  std::vector<OverlaidRun> runs;
  std::vector<uint32_t> at(divisions.size(), 0);
  std::vector<int64_t> left;  // of the part that each division is at
  for (const std::vector<int64_t>& parts : divisions) left.push_back(parts.empty() ? 0 : parts[0]);
  while (!divisions.empty()) {
    int64_t bytes = INT64_MAX;
    for (size_t d = 0; d < divisions.size(); ++d) {
      while (left[d] == 0 && at[d] + 1 < divisions[d].size()) left[d] = divisions[d][++at[d]];
      bytes = std::min(bytes, left[d]);
    }
    if (bytes == 0) break;
    runs.push_back({at, bytes});
    for (int64_t& rest : left) rest -= bytes;
  }
  return runs;
}

}  // namespace reshard
