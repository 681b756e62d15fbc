#include "compiler/frontend/json_number.h"

#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

int64_t Value(const ExactNumber& number) {
  CHECK(number.error == NumberError::kNone);
  return number.value;
}

TEST_CASE("decimals become whole numbers of the smaller unit, exactly") {
  CHECK(Value(ScaledDecimal("48.0", 9)) == 48'000'000'000);
  CHECK(Value(ScaledDecimal("0.1", 9)) == 100'000'000);
  CHECK(Value(ScaledDecimal("23.5", 9)) == 23'500'000'000);
  CHECK(Value(ScaledDecimal("1.000000001", 9)) == 1'000'000'001);
  CHECK(Value(ScaledDecimal("2.5e1", 3)) == 25'000);
  CHECK(Value(ScaledDecimal("25e-1", 1)) == 25);
  CHECK(Value(ScaledDecimal("-1.5", 3)) == -1500);
  CHECK(Value(ScaledDecimal("0.000000000000", 3)) == 0);
  CHECK(Value(ScaledDecimal("0e999999999999999999999", 9)) == 0);
  CHECK(Value(ScaledDecimal("9223372036.854775807", 9)) == INT64_MAX);
  CHECK(Value(ScaledDecimal("-9223372036.854775808", 9)) == INT64_MIN);
  CHECK(Value(ScaledDecimal("1000000000000000000000000e-24", 9)) == 1'000'000'000);
}

TEST_CASE("what is no whole number or does not fit is refused") {
  CHECK(ScaledDecimal("0.0000000001", 9).error == NumberError::kNotWhole);
  CHECK(ScaledDecimal("1e-99999999999999999999", 9).error == NumberError::kNotWhole);
  CHECK(ScaledDecimal("9223372036.854775808", 9).error == NumberError::kTooLarge);
  CHECK(ScaledDecimal("1e99999999999999999999", 9).error == NumberError::kTooLarge);
  CHECK(ScaledDecimal("123456789012345678901234", 0).error == NumberError::kTooLarge);
}

TEST_CASE("counts are written as integers") {
  CHECK(Value(WholeNumber("4096")) == 4096);
  CHECK(Value(WholeNumber("-7")) == -7);
  CHECK(Value(WholeNumber("9223372036854775807")) == INT64_MAX);
  CHECK(WholeNumber("9223372036854775808").error == NumberError::kTooLarge);
  CHECK(WholeNumber("4096.9").error == NumberError::kNotWhole);
  CHECK(WholeNumber("4096.0").error == NumberError::kNotWhole);
  CHECK(WholeNumber("4e3").error == NumberError::kNotWhole);
}

TEST_CASE("literals of one value have one text") {
  for (const std::string text : {"48.5", "48.50", "4850e-2", "0.485e2", "485E-1", "4.85e+1"}) {
    CHECK(CanonicalNumber(text) == "485e-1");
  }
  for (const std::string text : {"0", "-0", "0.00", "0e5", "-0.0e-3"}) {
    CHECK(CanonicalNumber(text) == "0");
  }
  CHECK(CanonicalNumber("50") == CanonicalNumber("50.0"));
  CHECK(CanonicalNumber("-12") == "-12");
  CHECK(CanonicalNumber("9007199254740993") != CanonicalNumber("9007199254740992"));
}

}  // namespace
}  // namespace reshard
