#include "runtime/base/name_pattern.h"

namespace reshard {

std::string NamePattern::Instance(const std::vector<int64_t>& loop_values) const {
  std::string name = text[0];
  for (size_t h = 0; h < holes.size(); ++h) {
    int64_t value = holes[h].base;
    for (size_t i = 0; i < holes[h].coef.size(); ++i) value += holes[h].coef[i] * loop_values[i];
    name += std::to_string(value);
    name += text[h + 1];
  }
  return name;
}

std::string NamePattern::Describe(const std::vector<int64_t>& loop_begin,
                                  const std::vector<int64_t>& loop_extent) const {
  std::string name = text[0];
  for (size_t h = 0; h < holes.size(); ++h) {
    int64_t low = holes[h].base;
    int64_t high = holes[h].base;
    for (size_t i = 0; i < holes[h].coef.size(); ++i) {
      const int64_t first = holes[h].coef[i] * loop_begin[i];
      const int64_t last = holes[h].coef[i] * (loop_begin[i] + loop_extent[i] - 1);
      low += first < last ? first : last;
      high += first < last ? last : first;
    }
    if (low == high) {
      name += std::to_string(low);
    } else {
      name += "{" + std::to_string(low) + ".." + std::to_string(high) + "}";
    }
    name += text[h + 1];
  }
  return name;
}

}  // namespace reshard
