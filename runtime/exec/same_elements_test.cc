#include "runtime/exec/same_elements.h"

#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/pack.h"

namespace reshard {
namespace {

// Four experts of 6 rows of 8 bytes: rank 0 holds each as a param "s.N" and needs each as "d.N",
// with a row of padding on both sides.
struct Fixture {
  Fixture() {
    plan.rank_sets = {{0}};
    plan.supers.push_back(
        {{{"w.", ""}, {{0, {1}}}}, DType::kU8, {0}, {4}, {6, 8}, {{0, 1}, {1, 1}, {2, 1}}});
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      PlanFamily family;
      family.side = side;
      family.name = {{side == PlanSide::kSource ? "s." : "d.", ""}, {{0, {1}}}};
      family.loop_begin = {0};
      family.loop_extent = {4};
      family.shape = {7, 8};
      family.dtype = DType::kU8;
      family.bytes = 56;
      plan.places.push_back({0, static_cast<uint32_t>(plan.families.size()), 0, 0,
                             static_cast<uint32_t>(plan.place_dims.size())});
      plan.families.push_back(family);
      plan.place_dims.insert(plan.place_dims.end(), {{0, 4, 0, 1}, {0, 6, 8, 0}, {0, 8, 1, 0}});
      plan.fill_dims.push_back({8, 1});
      plan.fills.push_back({static_cast<uint32_t>(plan.families.size() - 1), PlanFillRule::kZero,
                            48, static_cast<uint32_t>(plan.fill_dims.size() - 1), 1});
    }
  }
  bool Holds(int64_t source, int64_t destination) const {
    return SameElements(plan).Holds({0, source}, {1, destination});
  }
  Plan plan;
};

TEST_CASE("equal maps hold, each instance its own expert") {
  const Fixture f;
  CHECK(f.Holds(0, 0));
  CHECK(f.Holds(3, 3));
  CHECK_FALSE(f.Holds(0, 1));
}

TEST_CASE("a source with more elements holds; with fewer, moved or transposed ones it does not") {
  Fixture less;
  less.plan.place_dims[4].extent = 5;  // the destination needs five rows
  CHECK(less.Holds(1, 1));
  Fixture more;
  more.plan.place_dims[1].extent = 5;  // the source has five rows
  CHECK_FALSE(more.Holds(1, 1));
  Fixture moved;
  moved.plan.places[1].base_bytes = 8;
  CHECK_FALSE(moved.Holds(1, 1));
  Fixture transposed;
  transposed.plan.place_dims[4].stride_bytes = 1;
  transposed.plan.place_dims[5].stride_bytes = 7;
  CHECK_FALSE(transposed.Holds(1, 1));
  Fixture other;
  other.plan.supers.push_back(other.plan.supers[0]);
  other.plan.places[1].super = 1;
  CHECK_FALSE(other.Holds(1, 1));
}

TEST_CASE("what the destination wants zeroed has to be padding of the source too") {
  Fixture kept;
  kept.plan.fills.erase(kept.plan.fills.begin());
  CHECK_FALSE(kept.Holds(1, 1));
  Fixture elsewhere;
  elsewhere.plan.fills[0].base_bytes = 40;
  CHECK_FALSE(elsewhere.Holds(1, 1));
  Fixture shorter;
  shorter.plan.fill_dims[1].extent = 4;
  CHECK_FALSE(shorter.Holds(1, 1));
  Fixture keep;
  keep.plan.fills[1].rule = PlanFillRule::kKeep;
  keep.plan.fills.erase(keep.plan.fills.begin());
  CHECK(keep.Holds(1, 1));
}

TEST_CASE("messages are scattered around instances that are in place") {
  const Fixture f;
  std::vector<std::vector<uint8_t>> memory(8, std::vector<uint8_t>(56, 0xEE));
  std::vector<ParamBuffer> buffers;
  for (size_t i = 0; i < 4; ++i) {
    buffers.push_back({PlanSide::kSource, "s." + std::to_string(i), memory[i].data(), 56});
    // Experts 1 and 2 share their memory with the source.
    const bool shared = i == 1 || i == 2;
    buffers.push_back(
        {PlanSide::kDestination, "d." + std::to_string(i), memory[shared ? i : 4 + i].data(), 56});
  }
  const StatusOr<Bindings> bindings = BindParams(f.plan, 0, buffers);
  REQUIRE(bindings.ok());
  for (int64_t i = 0; i < 4; ++i) {
    CHECK(bindings->in_place(1, i) == (i == 1 || i == 2));
    CHECK_FALSE(bindings->in_place(0, i));
  }
  // One message with rows 0 to 4 of all experts, written and as read.
  RunNest nest;
  nest.family = 1;
  nest.run_bytes = 8;
  nest.dims = {{4, 0, 1}, {5, 8, 0}};
  CopyList list;
  const StatusOr<CopyRange> written =
      list.Append(f.plan, *bindings, std::vector{nest}, 160, /*written=*/true);
  REQUIRE(written.ok());
  CHECK(list.Bytes(*written) == 80);
  std::vector<uint8_t> message(160);
  for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<uint8_t>(i);
  list.Scatter(*written, message.data());
  for (size_t e = 0; e < 8; ++e) {
    std::vector<uint8_t> expected(56, 0xEE);
    for (size_t b = 0; (e == 4 || e == 7) && b < 40; ++b) {
      expected[b] = static_cast<uint8_t>((e - 4) * 40 + b);
    }
    CAPTURE(e);
    CHECK(memory[e] == expected);
  }
  const StatusOr<CopyRange> all = list.Append(f.plan, *bindings, std::vector{nest}, 160);
  REQUIRE(all.ok());
  CHECK(list.Bytes(*all) == 160);
}

TEST_CASE("one memory with other elements, and a part of a memory, are refused") {
  const Fixture f;
  std::vector<uint8_t> memory(56 * 9);
  std::vector<ParamBuffer> buffers;
  for (size_t i = 0; i < 4; ++i) {
    buffers.push_back({PlanSide::kSource, "s." + std::to_string(i), memory.data() + i * 56, 56});
    buffers.push_back(
        {PlanSide::kDestination, "d." + std::to_string(i), memory.data() + (4 + i) * 56, 56});
  }
  REQUIRE(BindParams(f.plan, 0, buffers).ok());
  std::vector<ParamBuffer> swapped = buffers;
  swapped[1].data = memory.data() + 56;  // d.0 where s.1 is
  CHECK(BindParams(f.plan, 0, swapped).status().message() ==
        "'d.0' lies in the memory of source param 's.1' but has other elements there");
  std::vector<ParamBuffer> partial = buffers;
  partial[1].data = memory.data() + 3 * 56 + 28;  // d.0 over s.3 and d.0's own place
  CHECK(BindParams(f.plan, 0, partial).status().message() ==
        "the buffers of 's.3' (source) and 'd.0' (destination) overlap");
}

}  // namespace
}  // namespace reshard
