#include "compiler/route/overlay.h"

#include <doctest/doctest.h>

#include <vector>

namespace reshard {
namespace {

std::vector<std::vector<int64_t>> Rows(const std::vector<std::vector<int64_t>>& divisions) {
  std::vector<std::vector<int64_t>> rows;
  for (const OverlaidRun& run : Overlay(divisions)) {
    std::vector<int64_t>& row = rows.emplace_back(run.parts.begin(), run.parts.end());
    row.push_back(run.bytes);
  }
  return rows;
}

using Table = std::vector<std::vector<int64_t>>;

TEST_CASE("runs end where any division has an end; empty parts get none") {
  CHECK(Rows({{4, 4}, {4, 4}}) == Table{{0, 0, 4}, {1, 1, 4}});
  CHECK(Rows({{6, 2}, {1, 0, 7}}) == Table{{0, 0, 1}, {0, 2, 5}, {1, 2, 2}});
  CHECK(Rows({{0, 5, 0}}) == Table{{1, 5}});
  CHECK(Rows({{1, 1, 1}, {3}, {2, 1}}) == Table{{0, 0, 0, 1}, {1, 0, 0, 1}, {2, 0, 1, 1}});
  CHECK(Rows({}).empty());
  CHECK(Rows({{0}, {0}}).empty());
}

}  // namespace
}  // namespace reshard
