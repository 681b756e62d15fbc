// Coverage: is every needed element held, and every held element needed?
//
// Told by exact volumes and box differences. Findings are gathered per param template, as one wrong
// template concerns thousands of tensors, and reported together at the end.
#ifndef RESHARD_COMPILER_TRANSFER_COVERAGE_H_
#define RESHARD_COMPILER_TRANSFER_COVERAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/layout/layout.h"
#include "compiler/layout/logical_table.h"
#include "compiler/transfer/box.h"
#include "compiler/transfer/box_place.h"
#include "compiler/transfer/overlap_pairs.h"
#include "compiler/transfer/side_atoms.h"
#include "runtime/base/rank_set.h"

namespace reshard {

// What coverage looks at; all of it outlives the check.
struct CoverageInputs {
  const LogicalTable* table = nullptr;
  const Layout* source = nullptr;
  const Layout* destination = nullptr;
  const std::vector<BoxPlace>* places = nullptr;
  const std::vector<std::vector<RefinedDim>>* dims = nullptr;  // per super-tensor
  const RankSetTable* rank_sets = nullptr;
};

class CoverageCheck {
 public:
  CoverageCheck(const CoverageInputs& inputs, WorkBudget* budget);

  // Super-tensors in rising order. `overlaps`: of source atoms with destination atoms. False when
  // the budget ran out; this and the following function.
  [[nodiscard]] bool AddSuper(SuperId super, const SideAtoms& source, const SideAtoms& destination,
                              const std::vector<BoxPair>& overlaps);
  // Reports not-held, not-needed and unused-pattern as errors, unused-tensor as a warning.
  [[nodiscard]] bool Report(Diagnostics* diags);

 private:
  // Elements of one super-tensor that params of one template store and the other side does not.
  struct Leftover {
    BoxList boxes;
    std::vector<RankSetId> ranks;  // per box: who stores it
  };
  // Of one template.
  struct Finding {
    Span span;
    std::map<SuperId, Leftover> supers;
  };
  // Of one side, by template.
  using Findings = std::map<uint32_t, Finding>;
  // The first tensor of a finding that no `unused` pattern excuses, and how many there are.
  struct Example {
    int64_t tensor_count = 0;
    SuperId super = 0;
    std::string tensor;
    std::string elements;
    Rank rank = 0;
  };

  const Layout& SideLayout(Side side) const;
  bool AddLeftovers(SuperId super, Side side, const SideAtoms& atoms, const SideAtoms& others,
                    const std::vector<BoxPair>& overlaps);
  bool AddUntouched(SuperId super, const SideAtoms& source, const SideAtoms& destination);
  bool FindExample(const Finding& finding, bool excusable, Example* out);
  bool IsUnused(const std::string& name) const;
  Note OtherSideNote(Side other, SuperId super) const;
  bool ReportFindings(Side side, Diagnostics* diags);
  bool ReportUntouched(Diagnostics* diags);
  bool ReportPatterns(Diagnostics* diags);
  bool PatternMatchesAny(const std::string& pattern, bool* matches);

  CoverageInputs in_;
  WorkBudget* budget_;
  std::vector<std::string> patterns_;  // `unused`, exact names resolved
  Findings not_held_, not_needed_;
  std::map<SuperId, BoxList> untouched_;  // tensors (loop dims) that neither side stores
  std::vector<std::pair<FamilyId, FamilyId>> first_family_;  // per super: of source, destination
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_COVERAGE_H_
