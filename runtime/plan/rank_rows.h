// Where a rank stands in a table of the plan that has one row per rank, rising.
#ifndef RESHARD_RUNTIME_PLAN_RANK_ROWS_H_
#define RESHARD_RUNTIME_PLAN_RANK_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reshard {

// rows.size() when the rank has no row. Ranks mostly are one run of numbers: then its place is
// known without a search.
template <class Row>
size_t RowOfRank(const std::vector<Row>& rows, uint32_t rank) {
  if (rows.empty() || rank < rows.front().rank) return rows.size();
  const size_t without_gaps = rank - rows.front().rank;
  if (without_gaps < rows.size() && rows[without_gaps].rank == rank) return without_gaps;
  // Gaps bring it further to the front.
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(std::min(without_gaps, rows.size()));
  const auto found = std::lower_bound(rows.begin(), end, rank,
                                      [](const Row& row, uint32_t r) { return row.rank < r; });
  return found != end && found->rank == rank ? static_cast<size_t>(found - rows.begin())
                                             : rows.size();
}

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_RANK_ROWS_H_
