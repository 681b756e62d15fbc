// ParamMap: which element of the model each element of one param's buffer is, as nests of loops.
//
// A piece stands for the buffer elements offset + sum(k_i * stride_i), 0 <= k_i < extent_i, and for
// the elements of one super-tensor that these are. Strides fall and the digits are nested: what the
// inner ones reach stays below the stride of the outer one. The pieces of a map cover each element
// of the buffer once. Offsets and strides are elements of the buffer.
#ifndef RESHARD_COMPILER_AGAINST_PARAM_MAP_H_
#define RESHARD_COMPILER_AGAINST_PARAM_MAP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/layout/layout_data.h"
#include "compiler/layout/rank_params.h"

namespace reshard {

struct MapDigit {
  int64_t extent = 1;
  int64_t stride = 0;
  size_t axis = 0;   // of the super-tensor
  int64_t step = 0;  // along it; 0 in padding
  bool operator==(const MapDigit&) const = default;
};

struct MapPiece {
  static constexpr SuperId kPadding = UINT32_MAX;
  SuperId super = kPadding;  // padding holds no element, whatever its fill
  int64_t offset = 0;
  std::vector<int64_t> index;    // of the element at `offset`, by axis
  std::vector<MapDigit> digits;  // by falling stride
  int64_t span() const;          // from the first element to behind the last one
  bool operator==(const MapPiece&) const = default;
};

using ParamMap = std::vector<MapPiece>;  // by rising offset

// The map of a param that is not external. Nullopt when it takes more than `*budget` pieces, which
// is taken down by those that it took.
std::optional<ParamMap> MapOf(const Layout& layout, const ParamInstance& param, int64_t* budget);

// The first buffer element that is not the same in two maps of buffers of one shape and dtype.
struct MapComparison {
  std::optional<int64_t> first_difference;
  bool exhausted = false;  // the budget ran out before everything was compared
};
// Work grows with pieces and their digits, not with elements; each step is taken from `*budget`.
MapComparison CompareMaps(const ParamMap& mine, const ParamMap& theirs, int64_t* budget);

}  // namespace reshard

#endif  // RESHARD_COMPILER_AGAINST_PARAM_MAP_H_
