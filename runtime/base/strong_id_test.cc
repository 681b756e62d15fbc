#include "runtime/base/strong_id.h"

#include <concepts>
#include <cstdint>
#include <sstream>
#include <unordered_set>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using RankId = StrongId<struct RankTag>;
using TensorId = StrongId<struct TensorTag>;

static_assert(!std::convertible_to<std::uint32_t, RankId>);
static_assert(!std::convertible_to<RankId, std::uint32_t>);
static_assert(!std::convertible_to<RankId, TensorId>);
static_assert(!std::equality_comparable_with<RankId, TensorId>);
static_assert(sizeof(RankId) == sizeof(std::uint32_t));

TEST_CASE("ids compare, hash, index and print as their numbers") {
  CHECK(RankId() == RankId(0));
  CHECK(RankId(2) < RankId(10));
  CHECK(RankId(10).index() == 10);
  const std::unordered_set<RankId> seen = {RankId(1), RankId(2), RankId(1)};
  CHECK(seen.size() == 2);
  std::ostringstream text;
  text << RankId(7);
  CHECK(text.str() == "7");
}

}  // namespace
}  // namespace reshard
