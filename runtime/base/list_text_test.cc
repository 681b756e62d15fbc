#include "runtime/base/list_text.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("lists") {
  CHECK(ListText({}) == "[]");
  CHECK(ListText({4}) == "[4]");
  CHECK(ListText({4, -1, 1024}) == "[4, -1, 1024]");
}

TEST_CASE("ranges") {
  CHECK(RangesText({}) == "");
  CHECK(RangesText({5}) == "5");
  CHECK(RangesText({5, 6}) == "5-6");
  CHECK(RangesText({0, 1, 2, 3, 5, 7, 8}) == "0-3,5,7-8");
  CHECK(RangesText({0, 2, 4}) == "0,2,4");
}

}  // namespace
}  // namespace reshard
