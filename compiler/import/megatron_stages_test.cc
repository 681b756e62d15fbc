// Against the tables that Megatron-Core computes.
#include "compiler/import/megatron_stages.h"

#include <optional>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

struct Case {
  int64_t layers;
  int64_t stages;
  int64_t chunks;
  std::optional<int64_t> first, last;
  StageTable expected;
};

std::optional<StageTable> Stages(int64_t layers, int64_t stages, int64_t chunks,
                                 std::optional<int64_t> first, std::optional<int64_t> last,
                                 Diagnostics* diags) {
  MegatronSpec spec;
  spec.pp = stages;
  spec.vpp = chunks;
  spec.first_layers = first;
  spec.last_layers = last;
  return MegatronStages(layers, spec, {}, diags);
}

TEST_CASE("stages have the layers that Megatron gives them") {
  const std::vector<Case> cases = {
      {94, 4, 1, 23, 23, {{{0, 23}}, {{23, 47}}, {{47, 71}}, {{71, 94}}}},
      {94, 4, 1, {}, 22, {{{0, 24}}, {{24, 48}}, {{48, 72}}, {{72, 94}}}},
      {61, 4, 1, {}, 13, {{{0, 16}}, {{16, 32}}, {{32, 48}}, {{48, 61}}}},
      {8, 2, 4, {}, {}, {{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}}},
      {32,
       4,
       2,
       {},
       {},
       {{{0, 4}, {16, 20}}, {{4, 8}, {20, 24}}, {{8, 12}, {24, 28}}, {{12, 16}, {28, 32}}}},
      // First and last with virtual stages: 2, 2 x 4 and 4 layers, half of each in a chunk.
      {14,
       4,
       2,
       2,
       4,
       {{{0, 1}, {7, 8}}, {{1, 3}, {8, 10}}, {{3, 5}, {10, 12}}, {{5, 7}, {12, 14}}}},
      {3, 2, 1, 1, 2, {{{0, 1}}, {{1, 3}}}},
  };
  for (const Case& item : cases) {
    CAPTURE(item.layers);
    Diagnostics diags;
    const std::optional<StageTable> found =
        Stages(item.layers, item.stages, item.chunks, item.first, item.last, &diags);
    CHECK(!diags.has_errors());
    REQUIRE(found.has_value());
    CHECK(*found == item.expected);
  }
}

TEST_CASE("layers that do not divide are refused") {
  const std::vector<Case> cases = {
      {61, 4, 1, {}, {}, {}},  // 61 over 4
      {8, 2, 3, {}, {}, {}},   // 4 over 3 virtual stages
      {10, 2, 2, 5, 5, {}},    // 5 over 2
      {4, 2, 1, 3, {}, {}},    // 1 for the other stage: fine
      {4, 2, 1, 4, {}, {}},    // none for the other stage
      {4, 2, 1, 1, 1, {}},     // two are nowhere
      {4, 1, 1, 2, 2, {}},     // one stage is not both
      {4, 2, 1, 9, {}, {}},    // more than there are
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    Diagnostics diags;
    const bool ok = Stages(cases[i].layers, cases[i].stages, cases[i].chunks, cases[i].first,
                           cases[i].last, &diags)
                        .has_value();
    CHECK(ok == (i == 3));
    CHECK(diags.has_errors() != ok);
  }
}

}  // namespace
}  // namespace reshard
