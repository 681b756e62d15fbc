#include "compiler/layout/name_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("numbers inside names count as numbers, and every two names are in one order") {
  const std::vector<std::string> rising = {"",         "a",    "a.2",    "a.02",
                                           "a.9.x",    "a.10", "a.10.w", "a.10.w2",
                                           "a.10.w10", "a.a",  "b",      "\xC3\xA9"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      INFO(rising[i], " and ", rising[j]);
      // "a.02" and "a.2" are one number: the bytes decide.
      const bool zeros = (i == 2 && j == 3) || (i == 3 && j == 2);
      CHECK(NameLess(rising[i], rising[j]) == (zeros ? i > j : i < j));
    }
  }
}

TEST_CASE("a pattern without its numbers") {
  NamePattern plain;
  plain.text = {"a.7"};
  CHECK(NameWithHoles(plain) == "a.{}");
  NamePattern two;
  two.text = {"a.", ".b12", "c"};
  two.holes.resize(2);
  CHECK(NameWithHoles(two) == "a.{}.b{}c");
}

}  // namespace
}  // namespace reshard
