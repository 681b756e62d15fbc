#include "compiler/route/busiest_sets.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

using Sets = std::vector<std::vector<uint32_t>>;

TEST_CASE("units that only share their own bytes are a set") {
  // 0 and 1 have 100 between them, 2 and 3 could send anything else.
  const std::vector<UnitDemand> demands = {{{0, 1}, 100}, {{1, 2}, 10}, {{2, 3}, 40}};
  const Sets sets = BusiestSets(demands, {1, 1, 1, 1}, 4);
  REQUIRE(!sets.empty());
  CHECK(sets[0] == std::vector<uint32_t>{0, 1});
}

TEST_CASE("a fast unit takes its share and is no bottleneck") {
  const std::vector<UnitDemand> demands = {{{0}, 60}, {{0, 1}, 60}, {{1, 2}, 60}};
  const Sets sets = BusiestSets(demands, {1, 1, 100}, 4);
  REQUIRE(!sets.empty());
  CHECK(sets[0] == std::vector<uint32_t>{0, 1});  // 120 bytes at 2
}

TEST_CASE("even loads are one set of all, in any order of demands") {
  const Sets all = {{0, 1, 2}};
  CHECK(BusiestSets({{{0, 1}, 30}, {{1, 2}, 30}, {{0, 2}, 30}}, {5, 5, 5}, 4) == all);
  CHECK(BusiestSets({{{0, 2}, 30}, {{1, 2}, 30}, {{0, 1}, 30}}, {5, 5, 5}, 4) == all);
}

TEST_CASE("units without bandwidth and single units make no set") {
  CHECK(BusiestSets({{{0, 1}, 30}}, {5, 0}, 4).empty());
  CHECK(BusiestSets({{{0}, 30}}, {5, 5}, 4).empty());
  CHECK(BusiestSets({}, {}, 4).empty());
}

TEST_CASE("no more sets than asked for") {
  std::vector<UnitDemand> demands;
  for (uint32_t unit = 0; unit < 8; ++unit) demands.push_back({{unit}, 1000 - 100 * int64_t{unit}});
  CHECK(BusiestSets(demands, std::vector<int64_t>(8, 1), 3) ==
        Sets{{0, 1}, {0, 1, 2}, {0, 1, 2, 3}});
}

}  // namespace
}  // namespace reshard
