#include "runtime/base/name_pattern.h"

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("holes are affine in the loop values") {
  NamePattern pattern;
  pattern.text = {"layers.", ".experts.", ".w"};
  pattern.holes = {{-3, {1, 0}}, {10, {0, 2}}};
  CHECK(pattern.Instance({3, 0}) == "layers.0.experts.10.w");
  CHECK(pattern.Instance({7, 4}) == "layers.4.experts.18.w");
  CHECK(pattern.Describe({3, 0}, {5, 1}) == "layers.{0..4}.experts.10.w");
}

TEST_CASE("a plain name has no hole") {
  NamePattern pattern;
  pattern.text = {"model.norm.weight"};
  CHECK(pattern.Instance({}) == "model.norm.weight");
  CHECK(pattern.Describe({}, {}) == "model.norm.weight");
}

TEST_CASE("a falling hole is described from low to high") {
  NamePattern pattern;
  pattern.text = {"a", ""};
  pattern.holes = {{10, {-2}}};
  CHECK(pattern.Instance({3}) == "a4");
  CHECK(pattern.Describe({1}, {3}) == "a{4..8}");
}

}  // namespace
}  // namespace reshard
