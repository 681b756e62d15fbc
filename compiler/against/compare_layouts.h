// CompareLayouts: in what two layouts of one side are not the same, rank by rank and element by
// element.
//
// Both were resolved over one table of tensors. Params are matched by name (or a name they share)
// on each rank; a param is the same when all its names are there and are one buffer on both sides,
// shape and dtype are the same, and each element of its buffer is the same element of the model.
// Padding equals padding, whatever its fill: a recorded loader does not know it. Differences are
// grouped by names without their numbers; of a group the first param is described.
#ifndef RESHARD_COMPILER_AGAINST_COMPARE_LAYOUTS_H_
#define RESHARD_COMPILER_AGAINST_COMPARE_LAYOUTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/layout_data.h"
#include "compiler/layout/logical_table.h"

namespace reshard {

enum class DifferenceKind : uint8_t {
#define RESHARD_DIFFERENCE_KIND(name, text, heading) name,
#include "compiler/against/difference_kinds.def"
#undef RESHARD_DIFFERENCE_KIND
};
std::string_view DifferenceText(DifferenceKind kind);
std::string_view DifferenceHeading(DifferenceKind kind);

// What one layout says of a param: where it says so, and in words what it has there.
struct StoredThere {
  Span span;
  std::string text;  // "bf16", "[8, 4]", "layers.0.w[3, 0]", "padding"
};

// Params of one kind of difference and of one name but for its numbers.
struct ParamDifferences {
  DifferenceKind kind{};
  std::string name;            // of the first such param
  RankList ranks;              // on which that one differs
  std::vector<int64_t> index;  // kElement: the first element of its buffer that differs
  StoredThere mine, theirs;    // of kOnlyMine and kOnlyTheirs only one has a span
  int64_t params = 0;          // all such params, each counted once however many ranks have it
  RankList all_ranks;          // of all of them
};

struct LayoutComparison {
  RankList only_mine, only_theirs;  // ranks that the other layout does not have
  int64_t params = 0;               // of ranks of both; each counted on every rank
  std::vector<ParamDifferences> differences;
  bool exhausted = false;  // the work budget ran out before everything was compared
  bool equal() const {
    return only_mine.empty() && only_theirs.empty() && differences.empty() && !exhausted;
  }
};

inline constexpr int64_t kComparisonBudget = 1'000'000'000;
LayoutComparison CompareLayouts(const LogicalTable& table, const Layout& mine, const Layout& theirs,
                                int64_t budget = kComparisonBudget);

}  // namespace reshard

#endif  // RESHARD_COMPILER_AGAINST_COMPARE_LAYOUTS_H_
