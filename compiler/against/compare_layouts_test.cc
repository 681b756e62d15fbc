#include "compiler/against/compare_layouts.h"

#include <string>

#include "compiler/layout/testing/layout_test_input.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

// One param of one name on each of 64 ranks, each with an entry of its own.
std::string LayoutText(const std::string& side, int rank_base) {
  return R"({"format": "reshard-layout", "version": 1, "side": ")" + side +
         R"(", "logical": [{"name": "w", "shape": [64, 2]}], "explicit": [{"for": {"r": "0..64"},
      "rank": "r+)" +
         std::to_string(rank_base) +
         R"(", "param": "p", "dtype": "bf16", "shape": [1, 2],
      "pieces": [{"t": "w", "src": [["r", 1], [0, 2]], "dst": [[0, 1], [0, 2]]}]}]})";
}

TEST_CASE("entries of other ranks are not looked at, and those that are count as steps") {
  const LayoutTestInput input(LayoutText("source", 0), LayoutText("destination", 64));
  REQUIRE_MESSAGE(input.good, input.Text());
  const LayoutComparison same =
      CompareLayouts(input.table, input.source, input.source, int64_t{64} * 8);
  CHECK_FALSE(same.exhausted);
  CHECK(same.equal());
  CHECK(same.params == 64);
  CHECK(CompareLayouts(input.table, input.source, input.source, 32).exhausted);
}

}  // namespace
}  // namespace reshard
