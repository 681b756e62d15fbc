// UncutParts: what parts hold together, however they are cut.
//
// The same elements at the same bytes are one box in one plan and many in another: a strided need
// on the other side is enough to cut every place of a tensor into rows. Here they get one id. It is
// made from the elements in the order of their indices: along each axis the longest runs of
// indices that lie alike, at equal distances, from the first index on.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_UNCUT_PARTS_H_
#define RESHARD_COMPILER_PLAN_TOOLS_UNCUT_PARTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/plan_tools/content_ids.h"

namespace reshard {

// A part of one tensor in one buffer, as in TensorPart.
struct LyingPart {
  ContentIds::Id box = 0;
  ContentIds::Id lines = 0;
  int64_t offset_bytes = 0;
};

class UncutParts {
 public:
  using Id = ContentIds::Id;
  // `ids` are those of the parts and outlive this.
  explicit UncutParts(ContentIds* ids) : ids_(ids) {}

  // Equal for the same elements at the same bytes; of too many parts (kMaxSteps), only where they
  // are cut alike.
  Id OfLying(std::vector<LyingPart> parts);
  // Equal for the same elements, each counted once.
  Id OfBoxes(std::vector<Id> boxes);

 private:
  // Indices of one axis at equal distances.
  struct Line {
    int64_t start = 0, step = 1, extent = 1;
    int64_t stride_bytes = 0;
  };
  struct Part {
    std::vector<Line> lines;  // one per axis
    int64_t offset_bytes = 0;
  };
  // Indices at which the same elements of the further axes lie, `offset_bytes` for the first one.
  struct Segment {
    Line line;
    Id section = 0;
    int64_t offset_bytes = 0;
  };
  // The id of a section, whose offsets count from that of its first element.
  using Section = std::pair<Id, int64_t>;

  Id Cached(ContentIds::Words key, const std::vector<LyingPart>& parts, bool with_bytes);
  void Append(const LyingPart& part, bool with_bytes, std::vector<Part>* parts);
  std::optional<Section> SectionOf(const std::vector<Part>& parts, size_t axis);
  std::optional<std::vector<Segment>> SegmentsOf(const std::vector<Part>& parts, size_t axis);

  ContentIds* ids_;
  std::map<ContentIds::Words, Id> known_;
  int64_t steps_ = 0;  // of the parts at hand
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_UNCUT_PARTS_H_
