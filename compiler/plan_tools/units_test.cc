#include "compiler/plan_tools/units.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("sizes are read with and without a unit") {
  CHECK(ParseBytes("4096") == 4096);
  CHECK(ParseBytes("64MiB") == int64_t{64} << 20);
  CHECK(ParseBytes("64 MiB") == int64_t{64} << 20);
  CHECK(ParseBytes("2GB") == 2'000'000'000);
  for (const char* bad :
       {"", "MiB", "-1", "1.5GB", "64mib", "9999999999999999999", "1 TB", "1MiBx"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseBytes(bad).has_value());
  }
  CHECK_FALSE(ParseBytes("999999999999GiB").has_value());
}

TEST_CASE("times have a unit") {
  CHECK(ParseNanoseconds("20us") == 20'000);
  CHECK(ParseNanoseconds("1500 ns") == 1'500);
  CHECK(ParseNanoseconds("0ns") == 0);
  CHECK(ParseNanoseconds("3s") == 3'000'000'000);
  for (const char* bad : {"", "20", "us", "-1us", "1.5us", "1min", "10001s"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseNanoseconds(bad).has_value());
  }
}

TEST_CASE("numbers for people") {
  CHECK(FormatCount(0) == "0");
  CHECK(FormatCount(999) == "999");
  CHECK(FormatCount(36945) == "36,945");
  CHECK(FormatCount(-1234567) == "-1,234,567");
  CHECK(FormatNanoseconds(20'000) == "20.0 us");
  CHECK(FormatNanoseconds(999'949) == "999.9 us");
  CHECK(FormatNanoseconds(999'950) == "1.00 ms");
  CHECK(FormatNanoseconds(999'994'999) == "999.99 ms");
  CHECK(FormatNanoseconds(999'995'000) == "1.000 s");
  CHECK(FormatNanoseconds(3'362'000'000) == "3.362 s");
  CHECK(FormatNanoseconds(1'234'567'500'000) == "1,234.568 s");
  CHECK(FormatRate(50'000'000'000) == "50 GB/s");
  CHECK(FormatRate(23'500'000'000) == "23.5 GB/s");
  CHECK(FormatPercent(0.984) == "98.4 %");
  CHECK(FormatChange(0.05) == "+5.0 %");
  CHECK(FormatChange(-0.5) == "-50.0 %");
  CHECK(FormatChange(0.00834) == "+0.83 %");
  CHECK(FormatChange(0.000391) == "+0.039 %");
  CHECK(FormatChange(-0.0000391) == "-0.0039 %");
  CHECK(FormatChange(-0.9994) == "-99.9 %");
  CHECK(FormatChange(-0.9996) == "-99.96 %");
  CHECK(FormatChange(-0.999931) == "-99.99 %");
  CHECK(FormatChange(-0.999961) == "-99.996 %");
  CHECK(FormatChange(-0.999999) == "-over 99.999 %");
  CHECK(FormatChange(-1) == "-100.0 %");
  CHECK(FormatChange(0.9999) == "+100.0 %");
  CHECK(FormatChange(0.000001) == "+under 0.001 %");
  CHECK(FormatRatio(1.0206) == "1.021");
}

}  // namespace
}  // namespace reshard
