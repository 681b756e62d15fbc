// What one rank stores: its params by name, and where each byte of them comes from.
#ifndef RESHARD_COMPILER_LAYOUT_RANK_PARAMS_H_
#define RESHARD_COMPILER_LAYOUT_RANK_PARAMS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/layout/layout_data.h"

namespace reshard {

// One buffer: instance number `instance` (row-major over the loops) of a family.
struct ParamInstance {
  FamilyId family = 0;
  int64_t instance = 0;
};

// The params of a rank: by family, then instance.
std::vector<ParamInstance> ParamsOfRank(const Layout& layout, Rank rank);
std::string NameOf(const Layout& layout, const ParamInstance& param);
// The param of `rank` that is called `name`, by its own name or one that it shares.
std::optional<ParamInstance> FindParam(const Layout& layout, Rank rank, std::string_view name);

std::span<const Place> PlacesOf(const Layout& layout, FamilyId family);
std::span<const Fill> FillsOf(const Layout& layout, FamilyId family);

// The element of a super-tensor that a place holds at a byte offset of an instance, by axis; null
// when the place does not cover it. The offset is that of an element.
std::optional<std::vector<int64_t>> ElementAt(const Place& place, int64_t instance,
                                              int64_t offset_bytes);
// Same for all places of the param's family; null for fills and external params.
struct StoredElement {
  SuperId super = 0;
  std::vector<int64_t> index;  // loop axes, then the dims
};
std::optional<StoredElement> ElementAt(const Layout& layout, const ParamInstance& param,
                                       int64_t offset_bytes);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_RANK_PARAMS_H_
