#include "runtime/base/dtype.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("texts parse back and sizes are known") {
  CHECK(kDTypeCount == 15);
  for (uint8_t i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    CHECK(ParseDType(DTypeText(dtype)) == dtype);
  }
  CHECK(DTypeBytes(DType::kF8E4M3) == 1);
  CHECK(DTypeBytes(DType::kBf16) == 2);
  CHECK(DTypeBytes(DType::kF32) == 4);
  CHECK(DTypeBytes(DType::kI64) == 8);
  CHECK_FALSE(ParseDType("float32").has_value());
}

}  // namespace
}  // namespace reshard
