#include "compiler/plan_tools/element_coverage.h"

#include <array>
#include <random>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// A box of up to three axes whose indices are start + i * 6 + j.
struct Model {
  struct Axis {
    int64_t start, heavy, light;  // extents of the digits of weight 6 and 1
  };
  std::array<Axis, 3> axes;
  int64_t copies;
};

constexpr int64_t kIndices = 24;
using Grid = std::vector<int64_t>;  // copies of each element

void Mark(const Model& box, Grid* grid) {
  std::array<std::vector<int64_t>, 3> indices;
  for (size_t axis = 0; axis < 3; ++axis) {
    for (int64_t i = 0; i < box.axes[axis].heavy; ++i) {
      for (int64_t j = 0; j < box.axes[axis].light; ++j) {
        indices[axis].push_back(box.axes[axis].start + i * 6 + j);
      }
    }
  }
  for (const int64_t x : indices[0]) {
    for (const int64_t y : indices[1]) {
      for (const int64_t z : indices[2]) {
        (*grid)[static_cast<size_t>((x * kIndices + y) * kIndices + z)] += box.copies;
      }
    }
  }
}

CoveredBox BoxOf(const Model& model, ContentIds* ids) {
  CoveredBox box;
  for (const Model::Axis& axis : model.axes) {
    ContentIds::Words words = {axis.start};
    if (axis.heavy > 1) words.insert(words.end(), {6, axis.heavy});
    if (axis.light > 1) words.insert(words.end(), {1, axis.light});
    box.axes.push_back(ids->Of(words));
  }
  box.copies = model.copies;
  return box;
}

std::vector<Model> RandomBoxes(std::mt19937* random) {
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>((*random)() % static_cast<uint32_t>(limit));
  };
  std::vector<Model> boxes(static_cast<size_t>(below(6)));
  for (Model& box : boxes) {
    for (Model::Axis& axis : box.axes) {
      axis.heavy = 1 + below(4);
      axis.light = 1 + below(6);
      axis.start = below(kIndices - (axis.heavy - 1) * 6 - (axis.light - 1));
      if (below(3) == 0) axis = {0, 4, 6};
    }
    box.copies = 1 + below(2);
  }
  return boxes;
}

TEST_CASE("the same as counting elements one by one") {
  std::mt19937 random(7);
  int changed = 0;
  for (int run = 0; run < 300; ++run) {
    CAPTURE(run);
    ContentIds ids;
    std::array<std::vector<Model>, 2> models = {RandomBoxes(&random), RandomBoxes(&random)};
    if (run % 3 == 0) models[1].insert(models[1].end(), models[0].begin(), models[0].end());
    std::array<std::vector<CoveredBox>, 2> boxes;
    std::array<Grid, 2> grids;
    for (size_t side = 0; side < 2; ++side) {
      grids[side].resize(kIndices * kIndices * kIndices);
      for (const Model& model : models[side]) {
        boxes[side].push_back(BoxOf(model, &ids));
        Mark(model, &grids[side]);
      }
    }
    const size_t loop_axes = static_cast<size_t>(run % 4);
    size_t tensor_elements = 1;
    for (size_t axis = loop_axes; axis < 3; ++axis) tensor_elements *= kIndices;
    int64_t lost = 0, fewer = 0, lost_elements = 0;
    for (size_t tensor = 0; tensor < grids[0].size() / tensor_elements; ++tensor) {
      bool loses = false, has_fewer = false;
      for (size_t i = tensor * tensor_elements; i < (tensor + 1) * tensor_elements; ++i) {
        if (grids[0][i] == 0) continue;
        if (grids[1][i] == 0) ++lost_elements;
        loses = loses || grids[1][i] == 0;
        has_fewer = has_fewer || grids[1][i] < grids[0][i];
      }
      lost += loses ? 1 : 0;
      fewer += has_fewer ? 1 : 0;
    }
    const CoverageChange change = CompareCoverage(boxes[0], boxes[1], loop_axes, ids);
    CHECK(change.known);
    CHECK(change.lost == lost);
    CHECK(change.fewer == fewer);
    CHECK(static_cast<int64_t>(change.lost_elements) == lost_elements);
    changed += lost > 0 && lost_elements < kIndices * kIndices * kIndices / 2 ? 1 : 0;
  }
  CHECK(changed > 50);
}

TEST_CASE("very many elements in few parts are few steps, too many parts are told") {
  ContentIds ids;
  const int64_t huge = int64_t{1} << 40;
  const ContentIds::Id all = ids.Of(ContentIds::Words{0, 1, huge});
  const ContentIds::Id most = ids.Of(ContentIds::Words{1, 1, huge - 1});
  const CoverageChange change = CompareCoverage({{{all, all}, 1}}, {{{most, most}, 1}}, 1, ids);
  CHECK(change.known);
  CHECK(change.lost == huge);
  CHECK(change.lost_elements == static_cast<ElementCount>(2 * huge - 1));
  const ContentIds::Id comb = ids.Of(ContentIds::Words{0, 2, huge});
  CHECK_FALSE(CompareCoverage({{{all}, 1}}, {{{comb}, 1}}, 0, ids).known);
}

TEST_CASE("scalars, and nothing") {
  const ContentIds ids;
  CHECK(CompareCoverage({}, {{{}, 1}}, 0, ids).lost == 0);
  CHECK(CompareCoverage({{{}, 1}}, {}, 0, ids).lost == 1);
  CHECK(CompareCoverage({{{}, 2}}, {{{}, 1}}, 0, ids).lost == 0);
  CHECK(CompareCoverage({{{}, 2}}, {{{}, 1}}, 0, ids).fewer == 1);
  CHECK(CompareCoverage({{{}, 1}, {{}, 1}}, {{{}, 2}}, 0, ids).fewer == 0);
}

}  // namespace
}  // namespace reshard
