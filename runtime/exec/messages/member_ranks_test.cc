#include "runtime/exec/messages/member_ranks.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("members by rank") {
  const std::vector<uint32_t> ranks = {7, 2, 9, 4};
  const MemberRanks members(ranks, 2);
  for (uint32_t rank = 0; rank < 12; ++rank) {
    CAPTURE(rank);
    const StatusOr<int> peer = members.PeerOf(rank);
    if (rank == 7 || rank == 2 || rank == 4) {
      REQUIRE(peer.ok());
      CHECK(members.rank(*peer) == rank);
    } else {
      CHECK(peer.status().code() == StatusCode::kInvalidArgument);
    }
  }
  CHECK(members.PeerOf(5).status().message() == "rank 5 is no peer of rank 9");
}

TEST_CASE("members in messages") {
  const std::vector<uint32_t> ranks = {7, 2, 9, 4};
  const MemberRanks members(ranks, 2);
  CHECK(members.Text(1) == "rank 2");
  CHECK(members.Text(std::vector{0}) == "rank 7");
  CHECK(members.Text(std::vector{2, 0, 1}) == "ranks 2, 7, 9");
}

}  // namespace
}  // namespace reshard
