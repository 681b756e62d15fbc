#include "compiler/plan_tools/tensor_parts.h"

#include <map>
#include <set>
#include <tuple>

#include "doctest/doctest.h"
#include "runtime/plan/testing/small_plan.h"

namespace reshard {
namespace {

// A tensor, an index along each axis of its shape, an instance and a byte in it.
using Element = std::tuple<int64_t, std::vector<int64_t>, int64_t, int64_t>;

// Every element of a box by the definition of dims: the index along an axis is the sum over its
// dims of (dim index * weight).
std::multiset<Element> ElementsOf(const PlanSuper& super, std::span<const PlanDimRange> dims) {
  std::multiset<Element> elements;
  std::vector<int64_t> index;
  for (const PlanDimRange& range : dims) index.push_back(range.begin);
  for (bool more = true; more;) {
    std::vector<int64_t> axes(super.loop_extent.size() + super.shape.size(), 0);
    int64_t instance = 0, byte = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      axes[super.dims[d].axis] += index[d] * super.dims[d].weight;
      instance += (index[d] - dims[d].begin) * dims[d].instance_stride;
      byte += (index[d] - dims[d].begin) * dims[d].stride_bytes;
    }
    int64_t tensor = 0;
    for (size_t i = 0; i < super.loop_extent.size(); ++i) {
      tensor = tensor * super.loop_extent[i] + axes[i] - super.loop_begin[i];
    }
    axes.erase(axes.begin(), axes.begin() + static_cast<int64_t>(super.loop_extent.size()));
    elements.insert({tensor, axes, instance, byte});
    more = false;
    for (size_t d = dims.size(); d-- > 0 && !more;) {
      more = ++index[d] < dims[d].begin + dims[d].extent;
      if (!more) index[d] = dims[d].begin;
    }
  }
  return elements;
}

// Every offset from a part's first element: indices along one axis with their bytes.
std::vector<std::pair<int64_t, int64_t>> Offsets(std::span<const int64_t> lines) {
  std::vector<std::pair<int64_t, int64_t>> offsets = {{0, 0}};
  for (size_t i = 0; i < lines.size(); i += 3) {
    std::vector<std::pair<int64_t, int64_t>> more;
    for (const auto& [index, byte] : offsets) {
      for (int64_t n = 0; n < lines[i + 1]; ++n) {
        more.emplace_back(index + n * lines[i], byte + n * lines[i + 2]);
      }
    }
    offsets = more;
  }
  return offsets;
}

// The elements that the parts of a box say.
std::multiset<Element> ElementsOfParts(const PlanSuper& super, std::span<const PlanDimRange> dims) {
  ContentIds ids;
  std::multiset<Element> elements;
  int64_t parts = 0, counted = 0;
  ForEachPart(super, dims, &ids, [&](const TensorPart& part) {
    ++parts;
    counted += part.elements;
    const auto lines = ids.WordsOf(part.lines);
    std::vector<Element> found = {{part.tensor, {}, part.instance, part.offset_bytes}};
    size_t next = 0;
    for (const int64_t axis : ids.WordsOf(part.box)) {
      const int64_t start = ids.WordsOf(static_cast<ContentIds::Id>(axis))[0];
      const size_t count = 3 * static_cast<size_t>(lines[next]);
      std::vector<Element> more;
      for (const Element& element : found) {
        for (const auto& [index, byte] : Offsets(lines.subspan(next + 1, count))) {
          more.push_back(element);
          std::get<1>(more.back()).push_back(start + index);
          std::get<3>(more.back()) += byte;
        }
      }
      next += 1 + count;
      found = more;
    }
    elements.insert(found.begin(), found.end());
  });
  CHECK(parts == PartCount(super, dims));
  CHECK(counted == static_cast<int64_t>(elements.size()));
  return elements;
}

TEST_CASE("parts hold the elements of their box, each once and at its byte") {
  for (const testing::NamedPlan& named : testing::SmallPlans()) {
    CAPTURE(named.name);
    for (const PlanPlace& place : named.plan.places) {
      const PlanSuper& super = named.plan.supers[place.super];
      const auto dims = DimsOf(named.plan, place);
      CHECK(ElementsOfParts(super, dims) == ElementsOf(super, dims));
    }
    for (const PlanCell& cell : named.plan.cells) {
      const PlanSuper& super = named.plan.supers[cell.super];
      const auto dims = DimsOf(named.plan, cell);
      CHECK(ElementsOfParts(super, dims) == ElementsOf(super, dims));
    }
  }
}

// Layers 2 to 4, experts 0 to 5 as 2 * high + low, rows 0 to 11 as 6 * a + 2 * b + c, 4 columns.
PlanSuper WideTensor() {
  PlanSuper super;
  super.name = {{"l", ".e", ""}, {{0, {1, 0}}, {0, {0, 1}}}};
  super.loop_begin = {2, 0};
  super.loop_extent = {3, 6};
  super.shape = {12, 4};
  super.dims = {{0, 1}, {1, 2}, {1, 1}, {2, 6}, {2, 2}, {2, 1}, {3, 1}};
  return super;
}

TEST_CASE("parts of tensors whose rows are spread over params") {
  const PlanSuper super = WideTensor();
  const std::vector<PlanDimRange> dims = {{3, 2, 0, 10}, {1, 2, 1000, 0}, {0, 2, 0, 1},
                                          {0, 2, 0, 5},  {1, 2, 48, 0},   {0, 2, 8, 0},
                                          {1, 3, 2, 0}};
  CHECK(ElementsOfParts(super, dims) == ElementsOf(super, dims));
  CHECK(PartCount(super, dims) == 2 * 2 * 2 * 2);
}

TEST_CASE("a box is the same however its axis is divided") {
  PlanSuper divided = WideTensor();
  PlanSuper plain = divided;
  plain.dims = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
  const std::vector<PlanDimRange> of_divided = {{2, 1, 0, 0}, {2, 1, 0, 0},  {1, 1, 0, 0},
                                                {1, 1, 0, 0}, {0, 3, 16, 0}, {0, 2, 8, 0},
                                                {0, 4, 2, 0}};
  const std::vector<PlanDimRange> of_plain = {
      {2, 1, 0, 0}, {5, 1, 0, 0}, {6, 6, 8, 0}, {0, 4, 2, 0}};
  ContentIds ids;
  CHECK(BoxOf(divided, of_divided, &ids) == BoxOf(plain, of_plain, &ids));
  std::vector<TensorPart> parts;
  const auto keep = [&](const TensorPart& part) { parts.push_back(part); };
  ForEachPart(divided, of_divided, &ids, keep);
  ForEachPart(plain, of_plain, &ids, keep);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].tensor == parts[1].tensor);
  CHECK(parts[0].box == parts[1].box);
  CHECK(parts[0].lines == parts[1].lines);
}

TEST_CASE("names of instances, the last loop first") {
  CHECK(InstanceNames({{"w"}, {}}, {}, {}) == std::vector<std::string>{"w"});
  CHECK(InstanceNames({{"l", ".e", ""}, {{0, {1, 0}}, {0, {0, 1}}}}, {3, 0}, {2, 2}) ==
        std::vector<std::string>{"l3.e0", "l3.e1", "l4.e0", "l4.e1"});
}

}  // namespace
}  // namespace reshard
