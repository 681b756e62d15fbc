#include "runtime/base/quantity_text.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("sizes take the next unit at 1000, also where rounding gets them there") {
  CHECK(FormatBytes(0) == "0 B");
  CHECK(FormatBytes(999) == "999 B");
  CHECK(FormatBytes(1'000) == "1.0 kB");
  CHECK(FormatBytes(999'949) == "999.9 kB");
  CHECK(FormatBytes(999'950) == "1.0 MB");
  CHECK(FormatBytes(470'200'000'000) == "470.2 GB");
  CHECK(FormatBytes(999'949'999'999) == "999.9 GB");
  CHECK(FormatBytes(999'950'000'000) == "1.00 TB");
  CHECK(FormatBytes(7'389'700'000'000) == "7.39 TB");
  CHECK(FormatBytes(172'570'000'000'000) == "172.57 TB");
  CHECK(FormatBytes(9'223'372'036'854'775'807) == "9.22 EB");
  CHECK(FormatBytes(-2'500) == "-2.5 kB");
}

TEST_CASE("memory takes the next unit at 1024, without zeros after the point") {
  CHECK(FormatBinary(1'023) == "1023 B");
  CHECK(FormatBinary(724'992) == "708 KiB");
  CHECK(FormatBinary((int64_t{1} << 20) - 1) == "1 MiB");
  CHECK(FormatBinary(int64_t{64} << 20) == "64 MiB");
  CHECK(FormatBinary((int64_t{1} << 30) + (int64_t{1} << 29)) == "1.5 GiB");
  CHECK(FormatBinary(int64_t{5} << 40) == "5 TiB");
}

}  // namespace
}  // namespace reshard
