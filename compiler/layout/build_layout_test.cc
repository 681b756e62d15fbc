#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/layout/layout_test_input.h"
#include "compiler/layout/rank_summary.h"
#include "doctest/doctest.h"

namespace reshard {
namespace {

int64_t TensorCount(const LogicalTable& table) {
  int64_t count = 0;
  for (const SuperTensor& super : table.supers) count += super.tensor_count();
  return count;
}

struct Totals {
  int64_t params = 0;
  int64_t bytes = 0;
  int64_t least = INT64_MAX;
  int64_t most = 0;
};
Totals TotalsOf(const Layout& layout) {
  Totals totals;
  for (const RankStorage& rank : SummarizeRanks(layout)) {
    totals.params += rank.params;
    totals.bytes += rank.bytes;
    totals.least = std::min(totals.least, rank.bytes);
    totals.most = std::max(totals.most, rank.bytes);
  }
  return totals;
}

TEST_CASE("the toy: rows on two ranks, columns on four") {
  const LayoutTestInput input(TestLayoutText("toy_train.json"), TestLayoutText("toy_infer.json"));
  REQUIRE_MESSAGE(input.good, input.Text());
  REQUIRE(input.source.families.size() == 2);
  REQUIRE(input.destination.places.size() == 4);
  const Place& rows = input.source.places[1];
  CHECK(rows.axes[0].begin == 4);
  REQUIRE(rows.axes[0].digits.size() == 1);
  CHECK(rows.axes[0].digits[0].extent == 4);
  CHECK(rows.axes[0].digits[0].stride_bytes == 32);
  const Place& columns = input.destination.places[3];
  CHECK(columns.axes[0].digits[0].stride_bytes == 8);
  CHECK(columns.axes[1].begin == 6);
  CHECK(columns.axes[1].digits[0].extent == 2);
  CHECK(columns.axes[1].digits[0].stride_bytes == 4);
}

TEST_CASE("Qwen3-235B: the counts and bytes that its shapes give") {
  const LayoutTestInput input(TestLayoutText("qwen3_235b_train.json"),
                              TestLayoutText("qwen3_235b_infer.json"));
  REQUIRE_MESSAGE(input.good, input.Text());
  CHECK(TensorCount(input.table) == 36'945);
  const Totals source = TotalsOf(input.source);
  CHECK(source.params == 34'640);
  CHECK(source.least == 8'984'604'672);
  CHECK(source.most == 9'233'108'480);
  const Totals destination = TotalsOf(input.destination);
  CHECK(destination.params == 54'336);
  CHECK(destination.least == 58'959'617'024);
  CHECK(destination.most == 58'959'617'024);
  CHECK(destination.bytes == 3'773'415'489'536);
  // Never ranks times tensors.
  CHECK(input.source.places.size() < 300);
  CHECK(input.destination.places.size() < 100);
}

}  // namespace
}  // namespace reshard
