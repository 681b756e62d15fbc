#include "compiler/plan_tools/unravel.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("numbers count the indices of a shape, the last dim fastest") {
  int64_t number = 0;
  for (int64_t a = 0; a < 3; ++a) {
    for (int64_t b = 0; b < 1; ++b) {
      for (int64_t c = 0; c < 4; ++c) {
        CHECK(Unravel(number++, {3, 1, 4}) == std::vector<int64_t>{a, b, c});
      }
    }
  }
  CHECK(Unravel(0, {}).empty());
}

}  // namespace
}  // namespace reshard
