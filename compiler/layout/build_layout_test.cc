#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/layout/rank_summary.h"
#include "compiler/layout/testing/layout_test_input.h"
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

// Bytes of the model that every rank of a tensor-parallel group stores: 1/tp of what is cut and all
// of the rest, from shapes alone.
int64_t DeepSeekBytesPerRank(int64_t tp) {
  const int64_t h = 7168, vocabulary = 129'280, layers = 61, dense = 3, moe = layers - dense;
  const int64_t heads = 128, q_rank = 1536, kv_rank = 512, nope = 128, rope = 64, v = 128;
  const int64_t wide = 18'432, narrow = 2048, experts = 256;
  const int64_t cut =
      2 * vocabulary * h +
      layers * (heads * (nope + rope) * q_rank + heads * (nope + v) * kv_rank + h * heads * v) +
      dense * 3 * wide * h + moe * (experts + 1) * 3 * narrow * h;
  const int64_t whole = h +
                        layers * (2 * h + q_rank + kv_rank + q_rank * h + (kv_rank + rope) * h) +
                        moe * experts * h;
  return 2 * (cut / tp + whole) + 4 * moe * experts;
}

TEST_CASE("DeepSeek-V3: bytes from shapes, cost by templates") {
  const LayoutTestInput input(TestLayoutText("deepseek_v3_4096_train.json"),
                              TestLayoutText("deepseek_v3_4096_tp32_infer.json"));
  REQUIRE_MESSAGE(input.good, input.Text());
  CHECK(TensorCount(input.table) == 45'395);
  const Totals destination = TotalsOf(input.destination);
  CHECK(destination.least == DeepSeekBytesPerRank(32));
  CHECK(destination.most == DeepSeekBytesPerRank(32));
  CHECK(input.source.ranks.size() == 4096);
  CHECK(input.source.places.size() < 4'000);
  CHECK(input.destination.places.size() < 500);
  const LayoutTestInput tp8("", TestLayoutText("deepseek_v3_4096_infer.json"));
  CHECK(!tp8.good);  // it leaves its tensors to the other side
}

TEST_CASE("params outside the plan, zero elements, repeated ranks") {
  const LayoutTestInput input(
      R"({"format":"reshard-layout","version":1,"side":"source","logical":[{"name":"a","shape":[5,2]}],
          "meshes":{"m":{"axes":["x"],"ranks":[9,4,7,2]}},
          "params":[{"name":"e","mesh":"m","external":{"shape":["x+1"],"dtype":"f32","why":"w"}},
                    {"name":"p","mesh":"m","value":{"op":"shard","axes":["x"],"uneven":"chunk",
                                                    "in":"a"}}]})",
      "");
  REQUIRE_MESSAGE(input.good, input.Text());
  CHECK(input.source.ranks == RankList{2, 4, 7, 9});
  const std::vector<RankStorage> ranks = SummarizeRanks(input.source);
  // Rank 2 has x = 3: four floats outside the plan, and no row of `a`.
  CHECK(ranks[0].params == 2);
  CHECK(ranks[0].external_bytes == 16);
  CHECK(ranks[0].bytes == 16);
  CHECK(ranks[3].bytes == 4 + 8);
}

}  // namespace
}  // namespace reshard
