#include "compiler/transfer/name_ranks.h"

#include <doctest/doctest.h>

namespace reshard {
namespace {

TEST_CASE("one rank is no ranks") {
  CHECK(NameRanks({5}) == "rank 5");
  CHECK(NameRanks({5, 6, 9}) == "ranks 5,6,9");
}

}  // namespace
}  // namespace reshard
