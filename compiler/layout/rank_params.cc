#include "compiler/layout/rank_params.h"

#include <algorithm>
#include <charconv>

namespace reshard {
namespace {

std::vector<int64_t> LoopValues(const ParamFamily& family, int64_t instance) {
  std::vector<int64_t> values(family.loop_begin.size());
  for (size_t i = values.size(); i-- > 0;) {
    values[i] = family.loop_begin[i] + instance % family.loop_extent[i];
    instance /= family.loop_extent[i];
  }
  return values;
}

// Reads the numbers of the holes out of a name. Nullopt when it does not have the pattern's texts
// around whole numbers.
std::optional<std::vector<int64_t>> HoleValues(const NamePattern& pattern, std::string_view name) {
  std::vector<int64_t> values;
  if (!name.starts_with(pattern.text[0])) return std::nullopt;
  name.remove_prefix(pattern.text[0].size());
  for (size_t h = 0; h < pattern.holes.size(); ++h) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc{}) return std::nullopt;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
    if (!name.starts_with(pattern.text[h + 1])) return std::nullopt;
    name.remove_prefix(pattern.text[h + 1].size());
    values.push_back(value);
  }
  if (!name.empty()) return std::nullopt;
  return values;
}

// The instance whose holes have these values, by loops that stand alone in a hole; -1 when that
// does not decide every loop.
int64_t SolveInstance(const ParamFamily& family, const NamePattern& pattern,
                      const std::vector<int64_t>& values) {
  int64_t instance = 0;
  for (size_t loop = 0; loop < family.loop_begin.size(); ++loop) {
    int64_t value = family.loop_begin[loop];
    bool decided = family.loop_extent[loop] == 1;
    for (size_t h = 0; h < values.size() && !decided; ++h) {
      const NamePattern::Hole& hole = pattern.holes[h];
      bool alone = hole.coef[loop] != 0;
      for (size_t i = 0; i < hole.coef.size(); ++i) alone &= i == loop || hole.coef[i] == 0;
      if (!alone || (values[h] - hole.base) % hole.coef[loop] != 0) continue;
      value = (values[h] - hole.base) / hole.coef[loop];
      decided = true;
    }
    const int64_t k = value - family.loop_begin[loop];
    if (!decided || k < 0 || k >= family.loop_extent[loop]) return -1;
    instance = instance * family.loop_extent[loop] + k;
  }
  return instance;
}

std::optional<int64_t> FindInstance(const ParamFamily& family, const NamePattern& pattern,
                                    std::string_view name) {
  if (!name.starts_with(pattern.text[0]) || !name.ends_with(pattern.text.back())) {
    return std::nullopt;
  }
  if (const auto values = HoleValues(pattern, name)) {
    const int64_t instance = SolveInstance(family, pattern, *values);
    if (instance >= 0 && pattern.Instance(LoopValues(family, instance)) == name) return instance;
  }
  // Holes that touch digits or each other, or share loops: try all.
  const bool plain = std::all_of(pattern.text.begin() + 1, pattern.text.end() - 1,
                                 [](const std::string& text) { return !text.empty(); });
  if (pattern.holes.empty() ||
      (plain && pattern.holes.size() == family.loop_begin.size() && !HoleValues(pattern, name))) {
    return std::nullopt;
  }
  for (int64_t instance = 0; instance < family.instance_count(); ++instance) {
    if (pattern.Instance(LoopValues(family, instance)) == name) return instance;
  }
  return std::nullopt;
}

// Digits of a place along all axes, those that move furthest in the buffer first.
struct AxisDigit {
  size_t axis = 0;
  PlaceDigit digit;
};

// Chooses digit values so that they move `offset` bytes and `instance` instances in all.
bool Decode(const std::vector<AxisDigit>& digits, size_t level, int64_t offset, int64_t instance,
            std::vector<int64_t>* index) {
  if (level == digits.size()) return offset == 0 && instance == 0;
  const PlaceDigit& digit = digits[level].digit;
  int64_t bytes_left = 0, instances_left = 0;
  for (size_t i = level + 1; i < digits.size(); ++i) {
    bytes_left += (digits[i].digit.extent - 1) * digits[i].digit.stride_bytes;
    instances_left += (digits[i].digit.extent - 1) * digits[i].digit.instance_stride;
  }
  int64_t first = 0;
  int64_t last = digit.extent - 1;
  const auto bound = [&](int64_t stride, int64_t want, int64_t rest) {
    if (stride == 0) return;
    last = std::min(last, want / stride);
    first = std::max(first, want - rest <= 0 ? 0 : (want - rest + stride - 1) / stride);
  };
  bound(digit.stride_bytes, offset, bytes_left);
  bound(digit.instance_stride, instance, instances_left);
  for (int64_t k = first; k <= last; ++k) {
    (*index)[digits[level].axis] += k * digit.step;
    if (Decode(digits, level + 1, offset - k * digit.stride_bytes,
               instance - k * digit.instance_stride, index)) {
      return true;
    }
    (*index)[digits[level].axis] -= k * digit.step;
  }
  return false;
}

}  // namespace

std::vector<ParamInstance> ParamsOfRank(const Layout& layout, Rank rank) {
  std::vector<ParamInstance> params;
  for (FamilyId f = 0; f < layout.families.size(); ++f) {
    if (!Contains(layout.rank_sets[layout.families[f].ranks], rank)) continue;
    const int64_t count = layout.families[f].instance_count();
    for (int64_t i = 0; i < count; ++i) params.push_back({f, i});
  }
  return params;
}

std::string NameOf(const Layout& layout, const ParamInstance& param) {
  const ParamFamily& family = layout.families[param.family];
  return family.name.Instance(LoopValues(family, param.instance));
}

std::optional<ParamInstance> FindParam(const Layout& layout, Rank rank, std::string_view name) {
  for (FamilyId f = 0; f < layout.families.size(); ++f) {
    const ParamFamily& family = layout.families[f];
    std::optional<int64_t> instance = FindInstance(family, family.name, name);
    for (size_t i = 0; i < family.shares.size() && !instance; ++i) {
      instance = FindInstance(family, family.shares[i], name);
    }
    if (instance && Contains(layout.rank_sets[family.ranks], rank))
      return ParamInstance{f, *instance};
  }
  return std::nullopt;
}

namespace {

// The items of one family; they stand together. (std::ranges does not compile with clang 14.)
template <typename Item>
std::span<const Item> OfFamily(const std::vector<Item>& items, FamilyId family) {
  const auto first =
      std::lower_bound(items.begin(), items.end(), family,
                       [](const Item& item, FamilyId wanted) { return item.family < wanted; });
  const auto last =
      std::upper_bound(first, items.end(), family,
                       [](FamilyId wanted, const Item& item) { return wanted < item.family; });
  return {items.data() + (first - items.begin()), static_cast<size_t>(last - first)};
}

}  // namespace

std::span<const Place> PlacesOf(const Layout& layout, FamilyId family) {
  return OfFamily(layout.places, family);
}

std::span<const Fill> FillsOf(const Layout& layout, FamilyId family) {
  return OfFamily(layout.fills, family);
}

std::optional<std::vector<int64_t>> ElementAt(const Place& place, int64_t instance,
                                              int64_t offset_bytes) {
  if (instance < place.base_instance || offset_bytes < place.base_bytes) return std::nullopt;
  std::vector<AxisDigit> digits;
  std::vector<int64_t> index;
  for (size_t axis = 0; axis < place.axes.size(); ++axis) {
    index.push_back(place.axes[axis].begin);
    for (const PlaceDigit& digit : place.axes[axis].digits) digits.push_back({axis, digit});
  }
  std::stable_sort(digits.begin(), digits.end(), [](const AxisDigit& a, const AxisDigit& b) {
    if (a.digit.instance_stride != b.digit.instance_stride) {
      return a.digit.instance_stride > b.digit.instance_stride;
    }
    return a.digit.stride_bytes > b.digit.stride_bytes;
  });
  if (!Decode(digits, 0, offset_bytes - place.base_bytes, instance - place.base_instance, &index)) {
    return std::nullopt;
  }
  return index;
}

std::optional<StoredElement> ElementAt(const Layout& layout, const ParamInstance& param,
                                       int64_t offset_bytes) {
  for (const Place& place : PlacesOf(layout, param.family)) {
    if (auto index = ElementAt(place, param.instance, offset_bytes)) {
      return StoredElement{place.super, std::move(*index)};
    }
  }
  return std::nullopt;
}

}  // namespace reshard
