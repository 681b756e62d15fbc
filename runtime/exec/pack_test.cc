#include "runtime/exec/pack.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// One rank whose only family has three instances of 48 bytes.
struct Fixture {
  Fixture() {
    plan.rank_sets = {{0}};
    PlanFamily family;
    family.name = {{"w.", ""}, {{0, {1}}}};
    family.loop_begin = {0};
    family.loop_extent = {3};
    family.shape = {48};
    family.dtype = DType::kU8;
    family.bytes = 48;
    plan.families = {family};
    std::vector<ParamBuffer> list;
    for (int i = 0; i < 3; ++i) {
      buffers.emplace_back(48);
      for (size_t b = 0; b < 48; ++b) buffers.back()[b] = static_cast<uint8_t>(i * 48 + int(b));
    }
    for (size_t i = 0; i < 3; ++i) {
      list.push_back({PlanSide::kSource, "w." + std::to_string(i), buffers[i].data(), 48});
    }
    StatusOr<Bindings> bound = BindParams(plan, 0, list);
    REQUIRE(bound.ok());
    bindings = *std::move(bound);
  }
  Plan plan;
  std::vector<std::vector<uint8_t>> buffers;
  Bindings bindings;
};

// Instances 0 and 2; in each, rows 1 and 3 (pitch 12); in each, `run_bytes` at columns 2 and 7.
RunNest ThreeDims(int64_t run_bytes) {
  RunNest nest;
  nest.base_bytes = 14;
  nest.run_bytes = run_bytes;
  nest.message_offset = 3;
  nest.dims = {{2, 0, 2}, {2, 24, 0}, {2, 5, 0}};
  return nest;
}

// The same positions, spelled out.
std::vector<int> PositionsOfThreeDims(int run_bytes) {
  std::vector<int> positions;
  for (int instance : {0, 2}) {
    for (int row : {1, 3}) {
      for (int column : {2, 7}) {
        for (int b = 0; b < run_bytes; ++b) {
          positions.push_back(instance * 48 + row * 12 + column + b);
        }
      }
    }
  }
  return positions;
}

TEST_CASE("gather writes runs in row-major order of the nest and nothing else") {
  for (int run_bytes : {1, 2, 3, 4, 5}) {
    CAPTURE(run_bytes);
    Fixture f;
    CopyList list;
    const std::vector<RunNest> nests = {ThreeDims(run_bytes)};
    const StatusOr<CopyRange> range = list.Append(f.plan, f.bindings, nests, 64);
    REQUIRE(range.ok());
    CHECK(list.Bytes(*range) == 8 * run_bytes);
    std::vector<uint8_t> message(64, 0xEE);
    list.Gather(*range, message.data());
    std::vector<uint8_t> expected(64, 0xEE);
    const std::vector<int> positions = PositionsOfThreeDims(run_bytes);
    for (size_t i = 0; i < positions.size(); ++i) {
      expected[3 + i] = static_cast<uint8_t>(positions[i]);
    }
    CHECK(message == expected);
  }
}

TEST_CASE("scatter is the inverse and leaves all other bytes alone") {
  for (int run_bytes : {1, 2, 3, 4, 5}) {
    CAPTURE(run_bytes);
    Fixture f;
    CopyList list;
    const std::vector<RunNest> nests = {ThreeDims(run_bytes)};
    const StatusOr<CopyRange> range = list.Append(f.plan, f.bindings, nests, 64);
    REQUIRE(range.ok());
    std::vector<std::vector<uint8_t>> expected = f.buffers;
    std::vector<uint8_t> message(64);
    std::iota(message.begin(), message.end(), uint8_t{200});
    const std::vector<int> positions = PositionsOfThreeDims(run_bytes);
    for (size_t i = 0; i < positions.size(); ++i) {
      expected[static_cast<size_t>(positions[i] / 48)][static_cast<size_t>(positions[i] % 48)] =
          message[3 + i];
    }
    list.Scatter(*range, message.data());
    CHECK(f.buffers == expected);
  }
}

TEST_CASE("ranges of one list are independent, runs of any size are moved whole") {
  Fixture f;
  CopyList list;
  RunNest whole;
  whole.base_instance = 1;
  whole.run_bytes = 48;
  RunNest tail;
  tail.base_instance = 2;
  tail.base_bytes = 16;
  tail.run_bytes = 32;
  const StatusOr<CopyRange> first = list.Append(f.plan, f.bindings, std::vector{whole}, 48);
  const StatusOr<CopyRange> second = list.Append(f.plan, f.bindings, std::vector{tail}, 32);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  std::vector<uint8_t> message(48, 0);
  list.Gather(*second, message.data());
  CHECK(message[0] == 2 * 48 + 16);
  CHECK(message[31] == 2 * 48 + 47);
  CHECK(message[32] == 0);
  list.Gather(*first, message.data());
  CHECK(message == f.buffers[1]);
}

TEST_CASE("nests that leave the buffer, the instances or the message are refused") {
  Fixture f;
  CopyList list;
  const auto accepted = [&](const RunNest& nest, int64_t message_bytes) {
    return list.Append(f.plan, f.bindings, std::vector{nest}, message_bytes).ok();
  };
  RunNest nest;
  nest.run_bytes = 12;
  nest.dims = {{4, 12, 0}};
  CHECK(accepted(nest, 48));
  CHECK_FALSE(accepted(nest, 47));
  nest.message_offset = -1;
  CHECK_FALSE(accepted(nest, 100));
  nest.message_offset = 1;
  CHECK_FALSE(accepted(nest, 48));
  nest.message_offset = 0;
  nest.base_bytes = 1;
  CHECK_FALSE(accepted(nest, 48));
  nest.base_bytes = -1;
  CHECK_FALSE(accepted(nest, 48));
  nest.base_bytes = 36;
  nest.dims = {{4, -12, 0}};
  CHECK(accepted(nest, 48));
  nest.dims = {{5, -12, 0}};
  CHECK_FALSE(accepted(nest, 60));
  nest.base_bytes = 0;
  nest.dims = {{3, 0, 1}};
  CHECK(accepted(nest, 36));
  nest.base_instance = 1;
  CHECK_FALSE(accepted(nest, 36));
  nest.base_instance = 0;
  nest.dims = {{INT64_MAX, INT64_MAX, 0}};
  CHECK_FALSE(accepted(nest, INT64_MAX));
  nest.dims = {{0, 12, 0}};
  CHECK_FALSE(accepted(nest, 48));
}

TEST_CASE("a fill zeroes its regions in every instance") {
  Fixture f;
  // Columns 4 and 5 of rows 0, 1 and 2 of 12 bytes.
  f.plan.fill_dims = {{3, 12}, {2, 1}};
  f.plan.fills = {{0, PlanFillRule::kZero, 4, 0, 2}};
  std::vector<std::vector<uint8_t>> expected = f.buffers;
  for (std::vector<uint8_t>& buffer : expected) {
    for (size_t row = 0; row < 3; ++row) buffer[row * 12 + 4] = buffer[row * 12 + 5] = 0;
  }
  FillList list;
  REQUIRE(list.Append(f.plan, f.bindings, f.plan.fills[0]).ok());
  list.Zero();
  CHECK(f.buffers == expected);
}

TEST_CASE("a fill of single bytes, one without dims, and one that leaves the buffer") {
  Fixture f;
  f.plan.fill_dims = {{4, 13}, {5, 12}};
  FillList list;
  REQUIRE(list.Append(f.plan, f.bindings, {0, PlanFillRule::kZero, 1, 0, 1}).ok());
  REQUIRE(list.Append(f.plan, f.bindings, {0, PlanFillRule::kZero, 47, 0, 0}).ok());
  CHECK_FALSE(list.Append(f.plan, f.bindings, {0, PlanFillRule::kZero, 0, 1, 1}).ok());
  std::vector<uint8_t> expected = f.buffers[2];
  for (const size_t at : std::initializer_list<size_t>{1, 14, 27, 40, 47}) expected[at] = 0;
  list.Zero();
  CHECK(f.buffers[2] == expected);
}

}  // namespace
}  // namespace reshard
