// NamePattern: the names of a family of things as one text with integer holes.
//
// Instance (v0, v1, ...) of the pattern is text[0] + hole0 + text[1] + hole1 + ... where each hole
// is an affine function of the loop values. A plain name has no hole.
#ifndef RESHARD_RUNTIME_BASE_NAME_PATTERN_H_
#define RESHARD_RUNTIME_BASE_NAME_PATTERN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reshard {

struct NamePattern {
  struct Hole {
    int64_t base = 0;
    std::vector<int64_t> coef;  // one per loop
    bool operator==(const Hole&) const = default;
  };
  std::vector<std::string> text = {""};  // holes.size() + 1 parts
  std::vector<Hole> holes;

  std::string Instance(const std::vector<int64_t>& loop_values) const;
  // For people: "layers.{0..60}.experts.{8..15}.w"; ranges from the loops' begin and extent.
  std::string Describe(const std::vector<int64_t>& loop_begin,
                       const std::vector<int64_t>& loop_extent) const;
  bool operator==(const NamePattern&) const = default;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_NAME_PATTERN_H_
