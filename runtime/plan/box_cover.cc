#include "runtime/plan/box_cover.h"

#include <algorithm>
#include <numeric>

namespace reshard {
namespace {

// Bounds memory, where the budget bounds time.
constexpr uint64_t kMaxNumbers = uint64_t{1} << 25;

// Appends the corners of a box in the dims `cut`, and their signs times `weight`.
void AppendCorners(const int64_t* box, const std::vector<size_t>& cut, int64_t weight,
                   std::vector<int64_t>* corners, std::vector<int64_t>* signs) {
  for (uint64_t ends = 0; ends < uint64_t{1} << cut.size(); ++ends) {
    int64_t sign = weight;
    for (size_t i = 0; i < cut.size(); ++i) {
      const bool end = (ends >> i & 1) != 0;
      corners->push_back(box[2 * cut[i] + (end ? 1 : 0)]);
      if (end) sign = -sign;
    }
    signs->push_back(sign);
  }
}

}  // namespace

BoxCoverResult CheckBoxCover(size_t dim_count, const int64_t* whole,
                             const std::vector<const int64_t*>& parts,
                             const std::function<bool(uint64_t)>& charge) {
  BoxCoverResult result;
  // In all other dims every part is as wide as the whole.
  std::vector<size_t> cut;
  for (size_t d = 0; d < dim_count; ++d) {
    if (std::any_of(parts.begin(), parts.end(), [&](const int64_t* part) {
          return part[2 * d] != whole[2 * d] || part[2 * d + 1] != whole[2 * d + 1];
        })) {
      cut.push_back(d);
    }
  }
  const uint64_t corner_count =
      cut.size() < 25 ? (parts.size() + uint64_t{1}) << cut.size() : kMaxNumbers;
  const uint64_t number_count = corner_count * (cut.size() + 2);
  if (number_count > kMaxNumbers || !charge(number_count)) {
    result.exhausted = true;
    return result;
  }
  std::vector<int64_t> corners;
  std::vector<int64_t> signs;
  corners.reserve(corner_count * cut.size());
  signs.reserve(corner_count);
  AppendCorners(whole, cut, -1, &corners, &signs);
  for (const int64_t* part : parts) AppendCorners(part, cut, 1, &corners, &signs);
  const auto corner = [&](uint32_t i) {
    return corners.begin() + static_cast<std::ptrdiff_t>(i * cut.size());
  };
  const auto width = static_cast<std::ptrdiff_t>(cut.size());
  std::vector<uint32_t> order(signs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::lexicographical_compare(corner(a), corner(a) + width, corner(b), corner(b) + width);
  });
  for (size_t first = 0; first < order.size();) {
    int64_t sum = 0;
    size_t last = first;
    for (; last < order.size() &&
           std::equal(corner(order[first]), corner(order[first]) + width, corner(order[last]));
         ++last) {
      sum += signs[order[last]];
    }
    if (sum != 0) {
      // No corner left over lies before this one in all dims, so that the sum is the excess here.
      BoxCoverFault fault;
      for (size_t d = 0; d < dim_count; ++d) fault.element.push_back(whole[2 * d]);
      for (size_t i = 0; i < cut.size(); ++i) {
        fault.element[cut[i]] = corners[order[first] * cut.size() + i];
      }
      fault.part_count = 1 + sum;
      result.fault = std::move(fault);
      return result;
    }
    first = last;
  }
  return result;
}

}  // namespace reshard
