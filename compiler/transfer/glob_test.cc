#include "compiler/transfer/glob.h"

#include <string>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("stars, question marks and plain text") {
  CHECK(GlobMatches("model.layers.61.*", "model.layers.61.mlp.gate.weight"));
  CHECK_FALSE(GlobMatches("model.layers.61.*", "model.layers.6.mlp.gate.weight"));
  CHECK(GlobMatches("*", ""));
  CHECK(GlobMatches("", ""));
  CHECK_FALSE(GlobMatches("", "a"));
  CHECK(GlobMatches("*.weight", "a.weight.weight"));
  CHECK_FALSE(GlobMatches("*.weight", "a.weight.bias"));
  CHECK(GlobMatches("a?c*", "abc"));
  CHECK_FALSE(GlobMatches("a?c", "ac"));
  CHECK(GlobMatches("**a**", "bab"));
  CHECK(GlobMatches("*ab*ab", "abxabyab"));
}

TEST_CASE("many stars take time in the product of the lengths, not more") {
  std::string pattern, name(20000, 'a');
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  CHECK_FALSE(GlobMatches(pattern + "b", name));
}

TEST_CASE("the prefix ends at the first wildcard") {
  CHECK(GlobPrefix("model.*.x") == "model.");
  CHECK(GlobPrefix("?x") == "");
  CHECK(GlobPrefix("lm_head.weight") == "lm_head.weight");
}

}  // namespace
}  // namespace reshard
