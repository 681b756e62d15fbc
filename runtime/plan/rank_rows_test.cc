#include "runtime/plan/rank_rows.h"

#include <doctest/doctest.h>

#include <vector>

namespace reshard {
namespace {

struct Row {
  uint32_t rank = 0;
};

TEST_CASE("ranks are found in one run of numbers, with gaps, and where there is nothing") {
  const std::vector<std::vector<uint32_t>> tables = {
      {}, {0}, {7}, {3, 4, 5, 6}, {0, 1, 4, 5, 9}, {2, 5, 6, 7, 100}, {0, UINT32_MAX}};
  for (const std::vector<uint32_t>& ranks : tables) {
    std::vector<Row> rows;
    for (const uint32_t rank : ranks) rows.push_back({rank});
    std::vector<uint32_t> asked = {0, UINT32_MAX - 1, UINT32_MAX};
    for (uint32_t rank = 1; rank < 110; ++rank) asked.push_back(rank);
    for (const uint32_t rank : asked) {
      size_t expected = 0;
      while (expected < ranks.size() && ranks[expected] != rank) ++expected;
      INFO(rank, " in a table of ", ranks.size());
      CHECK(RowOfRank(rows, rank) == expected);
    }
  }
}

}  // namespace
}  // namespace reshard
