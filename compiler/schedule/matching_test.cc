#include "compiler/schedule/matching.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "compiler/layout/topology.h"

namespace reshard {
namespace {

using Givers = std::vector<uint32_t>;

Givers Match(const std::vector<Taker>& takers, const std::vector<int64_t>& room_bytes) {
  int64_t work = 1'000'000;
  return MatchTakers(takers, room_bytes, &work);
}

// The most takers that can have a giver each of their own, by trying all choices.
int MostMatched(const std::vector<Taker>& takers, size_t taker, uint32_t taken) {
  if (taker == takers.size()) return 0;
  int most = MostMatched(takers, taker + 1, taken);
  for (const uint32_t giver : takers[taker].givers) {
    if ((taken >> giver & 1) != 0) continue;
    most = std::max(most, 1 + MostMatched(takers, taker + 1, taken | 1U << giver));
  }
  return most;
}

TEST_CASE("who can take elsewhere makes room") {
  CHECK(Match({{10, {0, 1}}, {10, {0}}}, {10, 10}) == Givers{1, 0});
  // Each of four gives way to the next one.
  CHECK(Match({{10, {0, 1}}, {10, {1, 2}}, {10, {2, 3}}, {10, {0}}}, {10, 10, 10, 10}) ==
        Givers{1, 2, 3, 0});
}

TEST_CASE("the preferred giver, as long as it has room") {
  CHECK(Match({{10, {1, 0}}, {10, {1, 0}}}, {10, 20}) == Givers{1, 1});
  CHECK(Match({{10, {1, 0}}, {10, {1, 0}}}, {10, 19}) == Givers{1, 0});
  // More than the room: all of it for one.
  CHECK(Match({{30, {0}}, {10, {0}}}, {20}) == Givers{0, kNone});
}

TEST_CASE("earlier takers come first") {
  CHECK(Match({{10, {0}}, {10, {0}}}, {10}) == Givers{0, kNone});
  CHECK(Match({}, {10}).empty());
}

TEST_CASE("without work left nobody is displaced") {
  int64_t work = 0;
  CHECK(MatchTakers({{10, {0, 1}}, {10, {0}}}, {10, 10}, &work) == Givers{0, kNone});
  CHECK(work < 0);
}

TEST_CASE("as many get something as can at all, and no giver gives to two") {
  std::mt19937 random(5);
  for (int run = 0; run < 300; ++run) {
    std::vector<Taker> takers(1 + random() % 7);
    for (Taker& taker : takers) {
      taker.bytes = 10;
      for (uint32_t giver = 0; giver < 7; ++giver) {
        if (random() % 3 == 0) taker.givers.push_back(giver);
      }
      std::shuffle(taker.givers.begin(), taker.givers.end(), random);
    }
    const Givers givers = Match(takers, std::vector<int64_t>(7, 10));
    CAPTURE(run);
    int matched = 0;
    uint32_t taken = 0;
    for (size_t i = 0; i < takers.size(); ++i) {
      if (givers[i] == kNone) continue;
      const Givers& own = takers[i].givers;
      CHECK(std::find(own.begin(), own.end(), givers[i]) != own.end());
      CHECK((taken >> givers[i] & 1) == 0);
      taken |= 1U << givers[i];
      ++matched;
    }
    CHECK(matched == MostMatched(takers, 0, 0));
  }
}

}  // namespace
}  // namespace reshard
