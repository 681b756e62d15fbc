// FamilyBuilder: views become families, places and fills of a Layout. Equal families of one
// template are one, with more ranks.
#ifndef RESHARD_COMPILER_LAYOUT_FAMILIES_H_
#define RESHARD_COMPILER_LAYOUT_FAMILIES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/layout/layout_data.h"
#include "compiler/layout/ranges.h"
#include "compiler/layout/scope.h"
#include "compiler/layout/view.h"

namespace reshard {

// One set of instances: a family in the making. Its loops are variables with symbolic runs.
struct FamilyDraft {
  NamePattern name;
  std::vector<NamePattern> shares;
  std::vector<size_t> loop_variables;
  std::vector<Run> loop_runs;
  std::vector<int64_t> shape;
  DType dtype = DType::kBf16;
  bool external = false;
  uint32_t template_index = 0;
  Span span;
};

class FamilyBuilder {
 public:
  FamilyBuilder(Layout* layout, PieceBudget* budget) : layout_(*layout), budget_(*budget) {}

  // Adds the instances on the ranks of one interned set. `content` may be null (external).
  // Pieces are taken as they are: merge them before. Returns false once the budget is exhausted.
  [[nodiscard]] bool Add(FamilyDraft draft, const View* content, RankSetId ranks);
  // Ends a template: families made so far are no longer candidates for merging.
  void EndTemplate();

 private:
  struct Made {
    FamilyId family = 0;
    RankSetId first_ranks = 0;
    std::vector<RankSetId> more_ranks;
  };
  void AppendKey(const FamilyDraft& draft, const View* content);
  std::string_view KeepKey();

  Layout& layout_;
  PieceBudget& budget_;
  std::string key_;  // of the draft at hand
  // Families of the template by their keys, which lie one after the other in blocks.
  std::vector<std::unique_ptr<char[]>> key_blocks_;
  size_t key_block_used_ = 0;
  std::unordered_map<std::string_view, size_t> by_key_;  // index of made_
  std::vector<Made> made_;
};

// Loop ranges of a family: value ranges for runs of step 1, else 0 .. count.
inline int64_t LoopBegin(const Run& run) { return run.step == 1 ? run.begin : 0; }

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_FAMILIES_H_
