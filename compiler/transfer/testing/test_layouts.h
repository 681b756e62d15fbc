// Tables and layouts made by hand, for tests of the folder above.
#ifndef RESHARD_COMPILER_TRANSFER_TESTING_TEST_LAYOUTS_H_
#define RESHARD_COMPILER_TRANSFER_TESTING_TEST_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// A tensor template "NAME.{l0}.{l1}" of u8 elements with the given loops and shape.
inline SuperTensor TestSuper(const std::string& name, std::vector<int64_t> loop_begin,
                             std::vector<int64_t> loop_extent, std::vector<int64_t> shape) {
  SuperTensor super;
  super.name.text = {name};
  for (size_t loop = 0; loop < loop_begin.size(); ++loop) {
    super.name.text.back() += ".";
    super.name.text.push_back("");
    NamePattern::Hole hole;
    hole.coef.resize(loop_begin.size());
    hole.coef[loop] = 1;
    super.name.holes.push_back(hole);
  }
  super.dtype = DType::kU8;
  super.loop_begin = std::move(loop_begin);
  super.loop_extent = std::move(loop_extent);
  super.shape = std::move(shape);
  return super;
}

// Adds a family with one place. Each family is a template of its own.
inline void AddTestPlace(Layout* layout, const RankList& ranks, SuperId super,
                         std::vector<PlaceAxis> axes) {
  ParamFamily family;
  family.name.text = {"param" + std::to_string(layout->families.size())};
  family.ranks = layout->rank_sets.Intern(ranks);
  family.template_index = static_cast<uint32_t>(layout->families.size());
  layout->ranks = Union(layout->ranks, ranks);
  Place place;
  place.super = super;
  place.family = static_cast<FamilyId>(layout->families.size());
  place.axes = std::move(axes);
  layout->families.push_back(std::move(family));
  layout->places.push_back(std::move(place));
}

// Indices [begin, begin + extent), `stride_bytes` apart in the buffer.
inline PlaceAxis TestRange(int64_t begin, int64_t extent, int64_t stride_bytes = 1) {
  return {begin, {{extent, 1, stride_bytes, 0}}};
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_TESTING_TEST_LAYOUTS_H_
