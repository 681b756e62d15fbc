#include "runtime/exec/arena_range.h"

#include <cstdint>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("all ranges in and around small arenas") {
  for (int64_t arena = 0; arena < 4; ++arena) {
    for (int64_t offset = -2; offset < 6; ++offset) {
      for (int64_t extent = -2; extent < 6; ++extent) {
        const bool inside = offset >= 0 && extent >= 0 && offset + extent <= arena;
        CAPTURE(arena);
        CAPTURE(offset);
        CAPTURE(extent);
        CHECK(CheckArenaRange(offset, extent, arena).ok() == inside);
      }
    }
  }
}

TEST_CASE("sums that do not fit") {
  const Status status = CheckArenaRange(INT64_MAX, INT64_MAX, INT64_MAX);
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK(CheckArenaRange(1, INT64_MAX, INT64_MAX).code() == StatusCode::kInvalidArgument);
  CHECK(CheckArenaRange(0, INT64_MAX, INT64_MAX).ok());
}

}  // namespace
}  // namespace reshard
