#include "runtime/exec/messages/failed_wait.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

const std::vector<uint32_t> kRanks = {10, 11, 12, 13};
constexpr Awaited kAwaited{1, " did not land step "};

TEST_CASE("a wait whose end nobody looked for") {
  const MemberRanks ranks(kRanks, 0);
  const Status status = TimeoutStatus(ranks, kAwaited, 7, CulpritSearch(0));
  CHECK(status.code() == StatusCode::kTimeout);
  CHECK(status.message() == "rank 11 did not land step 7");
}

TEST_CASE("every end of a search, at the rank that is waited for and behind it") {
  const MemberRanks ranks(kRanks, 0);
  CulpritSearch search(0);
  search.Start(1);
  REQUIRE(search.NextToAsk() == 1);
  CHECK(TimeoutStatus(ranks, kAwaited, 7, search).message() ==
        "rank 11 did not land step 7, and does not answer");
  search.Answer(1, 3);
  REQUIRE(search.NextToAsk() == 3);
  CHECK(TimeoutStatus(ranks, kAwaited, 7, search).message() ==
        "rank 11 did not land step 7; it waits, in the end, for rank 13, which does not answer");
  search.Answer(3, std::nullopt);
  CHECK(TimeoutStatus(ranks, kAwaited, 7, search).message() ==
        "rank 11 did not land step 7; it waits, in the end, for rank 13");
  CulpritSearch idle(0);
  idle.Start(1);
  REQUIRE(idle.NextToAsk() == 1);
  idle.Answer(1, std::nullopt);
  CHECK(TimeoutStatus(ranks, kAwaited, 7, idle).message() == "rank 11 did not land step 7");
  CulpritSearch circle(0);
  circle.Start(1);
  REQUIRE(circle.NextToAsk() == 1);
  circle.Answer(1, 0);
  CHECK(TimeoutStatus(ranks, kAwaited, 7, circle).message() ==
        "rank 11 did not land step 7; ranks wait for each other in a circle");
}

TEST_CASE("a rank that is gone") {
  const Status status = LostStatus(MemberRanks(kRanks, 0), kAwaited, 7);
  CHECK(status.code() == StatusCode::kUnavailable);
  CHECK(status.message() ==
        "rank 11 did not land step 7: its process has ended, or the connection broke");
}

}  // namespace
}  // namespace reshard
