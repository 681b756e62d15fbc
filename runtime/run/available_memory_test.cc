#include "runtime/run/available_memory.h"

#include <sstream>
#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

std::optional<int64_t> Parse(const std::string& text) {
  std::istringstream in(text);
  return ParseAvailableMemory(in);
}

TEST_CASE("the available memory is found among the other lines") {
  CHECK(Parse("MemTotal:       24000000 kB\nHugePages_Total:   0\nMemAvailable:   1000 kB\n"
              "Buffers: 3 kB\n") == 1024000);
  CHECK(Parse("MemTotal: 24 kB\n") == std::nullopt);
  CHECK(Parse("") == std::nullopt);
  CHECK(Parse("MemAvailable: lots\n") == std::nullopt);
  CHECK(Parse("MemAvailable: 5 MB\n") == std::nullopt);
  CHECK(Parse("MemAvailable: 9223372036854775807 kB\n") == std::nullopt);
}

TEST_CASE("this machine says how much it has") {
  const std::optional<int64_t> bytes = AvailableMemoryBytes();
  REQUIRE(bytes);
  CHECK(*bytes > int64_t{1} << 20);
}

}  // namespace
}  // namespace reshard
