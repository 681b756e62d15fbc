#include "compiler/plan_tools/uncut_parts.h"

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "doctest/doctest.h"

namespace reshard {
namespace {

using Words = ContentIds::Words;

// Indices of one axis: from `start` on, digits of (weight, extent, stride).
struct Axis {
  int64_t start = 0;
  std::vector<std::vector<int64_t>> digits;
};

LyingPart PartOf(const std::vector<Axis>& axes, int64_t offset_bytes, ContentIds* ids) {
  Words box, lines;
  for (const Axis& axis : axes) {
    Words ranges = {axis.start};
    lines.push_back(static_cast<int64_t>(axis.digits.size()));
    for (const std::vector<int64_t>& digit : axis.digits) {
      ranges.insert(ranges.end(), {digit[0], digit[1]});
      lines.insert(lines.end(), digit.begin(), digit.end());
    }
    box.push_back(ids->Of(ranges));
  }
  const ContentIds::Id box_id = ids->Of(box);
  return {box_id, ids->Of(lines), offset_bytes};
}

// Index and byte of each element of a part.
using Elements = std::set<std::pair<std::vector<int64_t>, int64_t>>;
void AddElements(const std::vector<Axis>& axes, int64_t offset_bytes, Elements* all) {
  Elements elements = {{{}, offset_bytes}};
  for (const Axis& axis : axes) {
    Elements longer;
    for (const auto& [index, byte] : elements) {
      std::vector<std::pair<int64_t, int64_t>> counted = {{axis.start, 0}};
      for (const std::vector<int64_t>& digit : axis.digits) {
        std::vector<std::pair<int64_t, int64_t>> more;
        for (const auto& [at, bytes] : counted) {
          for (int64_t n = 0; n < digit[1]; ++n) {
            more.emplace_back(at + n * digit[0], bytes + n * digit[2]);
          }
        }
        counted = std::move(more);
      }
      for (const auto& [at, bytes] : counted) {
        std::vector<int64_t> key = index;
        key.push_back(at);
        longer.insert({key, byte + bytes});
      }
    }
    elements = std::move(longer);
  }
  all->insert(elements.begin(), elements.end());
}

TEST_CASE("Ids are equal where, and only where, the same elements lie at the same bytes") {
  // Few indices and strides, so that equal sets come up in many ways.
  ContentIds ids;
  UncutParts uncut(&ids);
  std::map<Elements, ContentIds::Id> id_of;
  std::map<ContentIds::Id, Elements> elements_of;
  std::map<std::set<std::vector<int64_t>>, ContentIds::Id> boxes_of;
  std::mt19937 random(1);
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  int met_again = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int64_t axis_count = 1 + below(2);
    std::vector<LyingPart> parts;
    std::vector<ContentIds::Id> boxes;
    Elements elements;
    for (int64_t p = 0, count = 1 + below(3); p < count; ++p) {
      std::vector<Axis> axes;
      for (int64_t a = 0; a < axis_count; ++a) {
        Axis axis{below(4), {}};
        if (below(2) == 0) axis.digits.push_back({2 + below(2), 2, 4 * (1 + below(3))});
        if (below(2) == 0) axis.digits.push_back({1, 2, 4 * (1 + below(2))});
        axes.push_back(std::move(axis));
      }
      const int64_t offset = 4 * below(4);
      parts.push_back(PartOf(axes, offset, &ids));
      boxes.push_back(parts.back().box);
      AddElements(axes, offset, &elements);
    }
    const ContentIds::Id id = uncut.OfLying(parts);
    const auto [same, is_new] = id_of.try_emplace(elements, id);
    met_again += is_new ? 0 : 1;
    REQUIRE(same->second == id);
    REQUIRE(elements_of.try_emplace(id, elements).first->second == elements);
    std::set<std::vector<int64_t>> indices;
    for (const auto& [index, byte] : elements) indices.insert(index);
    const ContentIds::Id of_boxes = uncut.OfBoxes(boxes);
    REQUIRE(boxes_of.try_emplace(indices, of_boxes).first->second == of_boxes);
  }
  CHECK(met_again > 3'000);
}

TEST_CASE("Large parts cost no more than their cuts") {
  ContentIds ids;
  UncutParts uncut(&ids);
  const int64_t rows = int64_t{1} << 40;
  const auto part = [&](int64_t begin, int64_t end) {
    return PartOf({{begin, {{1, end - begin, 16}}}, {0, {{1, 8, 2}}}}, begin * 16, &ids);
  };
  const ContentIds::Id whole = uncut.OfLying({part(0, rows)});
  CHECK(uncut.OfLying({part(rows / 3, rows), part(0, rows / 3)}) == whole);
  CHECK(uncut.OfLying({part(rows / 3 + 1, rows), part(0, rows / 3)}) != whole);
  CHECK(uncut.OfBoxes({part(0, 7).box, part(5, rows).box}) == uncut.OfBoxes({part(0, rows).box}));
}

}  // namespace
}  // namespace reshard
