#include "runtime/base/checked_math.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "doctest/doctest.h"

namespace reshard {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kUnsignedMax = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("sums, differences and products at the edges of the type") {
  CHECK(CheckedAdd(kMax - 1, 1) == kMax);
  CHECK(CheckedAdd(kMax, 1) == std::nullopt);
  CHECK(CheckedAdd(kMin, -1) == std::nullopt);
  CHECK(CheckedAdd(kUnsignedMax, 1) == std::nullopt);
  CHECK(CheckedSub(kMin, 1) == std::nullopt);
  CHECK(CheckedSub(std::uint64_t{3}, 4) == std::nullopt);
  CHECK(CheckedSub(std::uint64_t{4}, 4) == 0U);
  CHECK(CheckedMul(std::int64_t{1} << 32, std::int64_t{1} << 30) == std::int64_t{1} << 62);
  CHECK(CheckedMul(std::int64_t{1} << 32, std::int64_t{1} << 31) == std::nullopt);
  CHECK(CheckedMul(kMin, -1) == std::nullopt);
  CHECK(CheckedMul(kUnsignedMax, 1) == kUnsignedMax);
  CHECK(CheckedMul(kUnsignedMax, 2) == std::nullopt);
  CHECK(CheckedMul(std::int32_t{1} << 16, std::int32_t{1} << 16) == std::nullopt);
}

TEST_CASE("products of many factors") {
  CHECK(CheckedProduct<std::int64_t>({}) == 1);
  CHECK(CheckedProduct<std::int64_t>({4096, 7168, 256}) == 7'516'192'768);
  CHECK(CheckedProduct<std::int64_t>({kMax, 2}) == std::nullopt);
  CHECK(CheckedProduct<std::int64_t>({kMax, 2, 0}) == 0);
}

TEST_CASE("division rounds down, up, and leaves a remainder with the divisor's sign") {
  struct Row {
    std::int64_t a, b, floor, mod, ceil;
  };
  for (const Row& row :
       {Row{7, 2, 3, 1, 4}, Row{-7, 2, -4, 1, -3}, Row{7, -2, -4, -1, -3}, Row{-7, -2, 3, -1, 4},
        Row{6, 2, 3, 0, 3}, Row{-6, 2, -3, 0, -3}, Row{0, 5, 0, 0, 0},
        Row{kMax, 2, kMax / 2, 1, kMax / 2 + 1}, Row{kMin, 2, kMin / 2, 0, kMin / 2}}) {
    CAPTURE(row.a);
    CAPTURE(row.b);
    CHECK(CheckedFloorDiv(row.a, row.b) == row.floor);
    CHECK(CheckedFloorMod(row.a, row.b) == row.mod);
    CHECK(CheckedCeilDiv(row.a, row.b) == row.ceil);
  }
  CHECK(CheckedFloorDiv(kUnsignedMax, 2) == kUnsignedMax / 2);
  CHECK(CheckedFloorMod(kUnsignedMax, 2) == 1U);
  CHECK(CheckedCeilDiv(kUnsignedMax, 2) == kUnsignedMax / 2 + 1);
}

TEST_CASE("division by zero and the one quotient that does not fit") {
  CHECK(CheckedFloorDiv(std::int64_t{1}, 0) == std::nullopt);
  CHECK(CheckedFloorMod(std::int64_t{1}, 0) == std::nullopt);
  CHECK(CheckedCeilDiv(std::int64_t{1}, 0) == std::nullopt);
  CHECK(CheckedFloorDiv(std::uint64_t{1}, 0) == std::nullopt);
  CHECK(CheckedFloorDiv(kMin, -1) == std::nullopt);
  CHECK(CheckedCeilDiv(kMin, -1) == std::nullopt);
  CHECK(CheckedFloorMod(kMin, -1) == 0);
}

TEST_CASE("casts keep the value or fail") {
  CHECK(CheckedCast<std::uint32_t>(std::int64_t{-1}) == std::nullopt);
  CHECK(CheckedCast<std::uint32_t>(std::int64_t{1} << 32) == std::nullopt);
  CHECK(CheckedCast<std::uint32_t>((std::int64_t{1} << 32) - 1) == 0xFFFF'FFFFU);
  CHECK(CheckedCast<std::int64_t>(kUnsignedMax) == std::nullopt);
  CHECK(CheckedCast<std::int64_t>(std::uint64_t{7}) == 7);
}

static_assert(CheckedAdd(std::int64_t{2}, 3) == 5, "usable in constant expressions");

}  // namespace
}  // namespace reshard
