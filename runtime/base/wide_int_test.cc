#include "runtime/base/wide_int.h"

#include <cstdint>
#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("numbers of 64 bits have the text that they have as such") {
  for (const int64_t number : {int64_t{0}, int64_t{7}, int64_t{-7}, int64_t{10}, int64_t{-1234},
                               int64_t{9'876'543'210}, INT64_MAX, INT64_MIN}) {
    CHECK(WideText(number) == std::to_string(number));
  }
}

TEST_CASE("larger numbers, to both ends") {
  CHECK(WideText(Wide{INT64_MAX} * 10 + 1) == "92233720368547758071");
  const Wide largest = ((Wide{1} << 126) - 1) * 2 + 1;
  CHECK(WideText(largest) == "170141183460469231731687303715884105727");
  CHECK(WideText(-largest - 1) == "-170141183460469231731687303715884105728");
}

}  // namespace
}  // namespace reshard
