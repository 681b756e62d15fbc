#include "runtime/base/rank_set.h"

#include <random>
#include <set>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("a mesh slice compresses to one nested run") {
  // Axes [pp 4, dp 8, tp 2]: all ranks with tp == 1 and pp == 2.
  RankList slice;
  for (uint32_t dp = 0; dp < 8; ++dp) slice.push_back(2 * 16 + dp * 2 + 1);
  CHECK(CompressRanks(slice) == std::vector<RankRun>{{33, 8, 2, 1, 1}});
  // dp in {0..3} of every pp: runs of 8 ranks every 16.
  RankList nested;
  for (uint32_t pp = 0; pp < 4; ++pp) {
    for (uint32_t i = 0; i < 8; ++i) nested.push_back(pp * 16 + i);
  }
  CHECK(CompressRanks(nested) == std::vector<RankRun>{{0, 8, 1, 4, 16}});
}

TEST_CASE("every subset of 12 ranks survives compression") {
  for (uint32_t bits = 0; bits < (1u << 12); ++bits) {
    RankList ranks;
    for (uint32_t r = 0; r < 12; ++r) {
      if (bits >> r & 1) ranks.push_back(r);
    }
    REQUIRE(ExpandRuns(CompressRanks(ranks)) == ranks);
  }
}

TEST_CASE("set operations agree with std::set") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::set<Rank> a;
    std::set<Rank> b;
    for (int i = 0; i < 10; ++i) {
      a.insert(static_cast<Rank>(random() % 20));
      b.insert(static_cast<Rank>(random() % 20));
    }
    const RankList x(a.begin(), a.end());
    const RankList y(b.begin(), b.end());
    RankList both;
    RankList either;
    RankList only;
    for (Rank r = 0; r < 20; ++r) {
      if (a.count(r) && b.count(r)) both.push_back(r);
      if (a.count(r) || b.count(r)) either.push_back(r);
      if (a.count(r) && !b.count(r)) only.push_back(r);
      CHECK(Contains(x, r) == (a.count(r) == 1));
    }
    CHECK(Intersection(x, y) == both);
    CHECK(Union(x, y) == either);
    CHECK(Difference(x, y) == only);
    CHECK(IsSubset(both, y));
    CHECK(IsSubset(x, y) == only.empty());
  }
}

TEST_CASE("descriptions stay short") {
  CHECK(DescribeRanks({}) == "none");
  CHECK(DescribeRanks({5}) == "5");
  CHECK(DescribeRanks({0, 1, 2, 3, 8, 9, 12}) == "0-3,8,9,12");
  RankList odd;
  for (Rank r = 1; r < 400; r += 2) odd.push_back(r);
  const std::string text = DescribeRanks(odd);
  CHECK(text.size() < 80);
  CHECK(text.find("399 (200 ranks)") != std::string::npos);
}

TEST_CASE("interning gives one id per set, in order of first use") {
  RankSetTable table;
  CHECK(table.Intern({3, 4}) == 0);
  CHECK(table.Intern({1}) == 1);
  CHECK(table.Intern({3, 4}) == 0);
  CHECK(table[1] == RankList{1});
  CHECK(table.count() == 2);
}

}  // namespace
}  // namespace reshard
