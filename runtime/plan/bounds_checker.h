// The bounds rules, table by table. Part of VerifyBounds.
#ifndef RESHARD_RUNTIME_PLAN_BOUNDS_CHECKER_H_
#define RESHARD_RUNTIME_PLAN_BOUNDS_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/verify.h"

namespace reshard {

// What an affine map may reach: far from overflow wherever readers add two of them.
inline constexpr int64_t kMaxReach = int64_t{1} << 61;
// a * b added to `sum`; false outside [-kMaxReach, kMaxReach].
[[nodiscard]] bool AddProduct(int64_t a, int64_t b, int64_t* sum);
// Do `count` rows from `first` lie in a table of `table_rows`?
[[nodiscard]] bool Fits(uint64_t first, uint64_t count, uint64_t table_rows);
// "place 12"
std::string Item(const char* what, size_t index);

// Collects violations; each Check step may rely on what the steps before it have found in order.
class BoundsChecker {
 public:
  BoundsChecker(const Plan& plan, const VerifyOptions& options) : plan_(plan), options_(options) {}

  // Stops after the first step that finds something: later ones rely on earlier ones.
  VerifyReport Run();

 private:
  void Add(VerifyRule rule, std::string where, std::string text);
  // Reports and returns false when the rule is broken.
  bool Require(bool holds, const char* what, size_t index, const char* text);
  bool RequireOrder(bool holds, const char* what, size_t index, const char* text);

  bool HasRank(uint32_t rank) const;
  uint32_t DomainOf(uint32_t rank) const;  // of a rank that has a site

  void CheckHeader();
  void CheckTopology();
  void CheckRanks();
  void CheckCuts();
  void CheckRankSets();
  void CheckSupers();
  void CheckFamilies();
  void CheckInstances();
  void CheckPlaces();
  void CheckFills();
  void CheckClasses();
  void CheckStreams();
  void CheckTrees();
  void CheckInjects();
  void CheckSlices();

  bool NameIsSound(const NamePattern& name, const std::vector<int64_t>& loop_begin,
                   const std::vector<int64_t>& loop_extent) const;
  bool LoopsAreSound(const std::vector<int64_t>& begin, const std::vector<int64_t>& extent) const;
  bool DimsAreSound(const PlanSuper& super) const;
  template <class RangeOf>
  bool BoxIsInside(const PlanSuper& super, const RangeOf& range_of) const;

  const Plan& plan_;
  const VerifyOptions& options_;
  VerifyReport report_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_BOUNDS_CHECKER_H_
