#include "compiler/against/param_map.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "compiler/layout/rank_params.h"
#include "compiler/layout/testing/layout_test_input.h"
#include "runtime/base/dtype.h"

namespace reshard {
namespace {

// Values of shape [8, 6]: some are the same elements in other words.
const std::vector<std::string> kValues = {
    R"("a")",
    R"({"op": "cat", "in": ["b", "c"]})",
    R"({"op": "cat", "in": ["c", "b"]})",
    R"({"op": "permute", "dims": [1, 0], "in": "d"})",
    R"({"op": "reshape", "shape": [8, 6], "in": "d"})",
    R"({"op": "group_cat", "groups": 2, "in": ["b", "c"]})",
    R"({"op": "group_cat", "groups": 4, "in": ["b", "c"]})",
    R"({"op": "slice", "start": 0, "stop": 16, "step": 2, "in": "e"})",
    R"({"op": "slice", "start": 1, "stop": 16, "step": 2, "in": "e"})",
    R"({"op": "cat", "in": [{"op": "slice", "start": 0, "stop": 8, "step": 2, "in": "a"},
                            {"op": "slice", "start": 1, "stop": 8, "step": 2, "in": "a"}]})",
    R"({"op": "reshape", "shape": [8, 6], "in": {"op": "stack", "over": {"i": "0..4"}, "in": "x.{i}"}})",
    R"({"op": "cat", "in": ["x.0", "x.1", "x.2", "x.3"]})",
    R"({"op": "cat", "in": ["x.1", "x.0", "x.2", "x.3"]})",
    R"({"op": "pad", "to": 8, "in": {"op": "slice", "start": 0, "stop": 7, "in": "a"}})",
    R"({"op": "pad", "to": 8, "in": {"op": "slice", "start": 0, "stop": 5, "in": "a"}})",
    R"({"op": "pad", "dim": 1, "to": 6, "in": {"op": "slice", "dim": 1, "start": 0, "stop": 4, "in": "a"}})",
    R"({"op": "cat", "dim": 1, "in": [{"op": "slice", "dim": 1, "start": 0, "stop": 3, "in": "a"},
                                      {"op": "slice", "dim": 1, "start": 3, "stop": 6, "in": "a"}]})",
    R"({"op": "cat", "dim": 1, "in": [{"op": "slice", "dim": 1, "start": 4, "stop": 6, "in": "a"},
                                      {"op": "slice", "dim": 1, "start": 0, "stop": 4, "in": "a"}]})",
    R"({"op": "cat", "in": [{"op": "slice", "start": 0, "stop": 3, "in": "a"},
                            {"op": "slice", "start": 3, "stop": 8, "in": "a"}]})",
    R"({"op": "reshape", "shape": [8, 6], "in": {"op": "permute", "dims": [1, 0, 2],
        "in": {"op": "reshape", "shape": [2, 4, 6], "in": "a"}}})",
    R"({"op": "reshape", "shape": [8, 6], "in": {"op": "cat", "dim": 1, "in": [
        {"op": "slice", "dim": 1, "start": 0, "stop": 5, "in": "d"},
        {"op": "slice", "dim": 1, "start": 5, "stop": 8, "in": "d"}]}})",
    R"({"op": "cat", "in": [{"op": "slice", "start": 0, "stop": 4, "in": "a"},
                            {"op": "slice", "start": 0, "stop": 4, "in": "a"}]})",
};

// All values as params v0, v1, ... of one rank.
std::string LayoutText(const std::string& side, int rank) {
  std::string text = R"({"format": "reshard-layout", "version": 1, "side": ")" + side +
                     R"(", "rank_base": )" + std::to_string(rank) +
                     R"(, "meshes": {"m": {"axes": ["x"], "shape": [1]}}, "logical": [
    {"name": "a", "shape": [8, 6]}, {"name": "b", "shape": [4, 6]}, {"name": "c", "shape": [4, 6]},
    {"name": "d", "shape": [6, 8]}, {"name": "e", "shape": [16, 6]},
    {"for": {"i": "0..4"}, "name": "x.{i}", "shape": [2, 6]}], "params": [)";
  for (size_t i = 0; i < kValues.size(); ++i) {
    text += (i ? ", " : "") + (R"({"name": "v)" + std::to_string(i)) +
            R"(", "mesh": "m", "value": )" + kValues[i] + "}";
  }
  return text + "]}";
}

// Element by element, by looking each of them up.
std::optional<int64_t> FirstDifference(const Layout& a, const ParamInstance& in_a, const Layout& b,
                                       const ParamInstance& in_b) {
  const ParamFamily& family = a.families[in_a.family];
  for (int64_t offset = 0; offset < family.bytes; offset += DTypeBytes(family.dtype)) {
    const auto mine = ElementAt(a, in_a, offset);
    const auto theirs = ElementAt(b, in_b, offset);
    const bool same = mine.has_value() == theirs.has_value() &&
                      (!mine || (mine->super == theirs->super && mine->index == theirs->index));
    if (!same) return offset / DTypeBytes(family.dtype);
  }
  return std::nullopt;
}

TEST_CASE("the first difference of every two values is that of looking up all elements") {
  const LayoutTestInput input(LayoutText("source", 0), LayoutText("destination", 1));
  REQUIRE_MESSAGE(input.good, input.Text());
  int equal = 0;
  for (size_t i = 0; i < kValues.size(); ++i) {
    for (size_t k = 0; k < kValues.size(); ++k) {
      CAPTURE(i);
      CAPTURE(k);
      const auto a = FindParam(input.source, 0, "v" + std::to_string(i));
      const auto b = FindParam(input.destination, 1, "v" + std::to_string(k));
      REQUIRE(a);
      REQUIRE(b);
      int64_t budget = 1'000'000;
      const auto mine = MapOf(input.source, *a, &budget);
      const auto theirs = MapOf(input.destination, *b, &budget);
      REQUIRE(mine);
      REQUIRE(theirs);
      const MapComparison found = CompareMaps(*mine, *theirs, &budget);
      CHECK_FALSE(found.exhausted);
      CHECK(found.first_difference == FirstDifference(input.source, *a, input.destination, *b));
      if (!found.first_difference) ++equal;
    }
  }
  // Each to itself; off the diagonal: three values are a, two all of x, two d in other rows.
  CHECK(equal == 22 + 6 + 2 + 2);
}

TEST_CASE("work grows with pieces, not with elements") {
  const auto text = [](const std::string& side, int rank, const std::string& value) {
    return R"({"format": "reshard-layout", "version": 1, "side": ")" + side +
           R"(", "rank_base": )" + std::to_string(rank) +
           R"(, "meshes": {"m": {"axes": ["x"], "shape": [1]}},
      "logical": [{"name": "a", "shape": [1000000, 1000000]}],
      "params": [{"name": "p", "mesh": "m", "value": )" +
           value + "}]}";
  };
  const LayoutTestInput input(text("source", 0, R"("a")"),
                              text("destination", 1, R"({"op": "cat", "dim": 1, "in": [
          {"op": "slice", "dim": 1, "start": 0, "stop": 300001, "in": "a"},
          {"op": "slice", "dim": 1, "start": 300001, "stop": 1000000, "in": "a"}]})"));
  REQUIRE_MESSAGE(input.good, input.Text());
  int64_t budget = 100;
  const auto mine = MapOf(input.source, {0, 0}, &budget);
  const auto theirs = MapOf(input.destination, {0, 0}, &budget);
  REQUIRE(mine);
  REQUIRE(theirs);
  const MapComparison found = CompareMaps(*mine, *theirs, &budget);
  CHECK_FALSE(found.exhausted);
  CHECK_FALSE(found.first_difference);
}

}  // namespace
}  // namespace reshard
