// Whether two params that lie in one memory agree on what is where.
#ifndef RESHARD_RUNTIME_EXEC_SAME_ELEMENTS_H_
#define RESHARD_RUNTIME_EXEC_SAME_ELEMENTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

struct FamilyInstance {
  uint32_t family = 0;
  int64_t instance = 0;
};

// Maps of the families that it was asked about are worked out once.
class SameElements {
 public:
  // `plan` has passed the bounds rules and outlives this.
  explicit SameElements(const Plan& plan) : plan_(plan) {}

  // Whether every element of `destination` lies at the same byte of `source`, and whatever
  // `destination` wants zeroed is zeroed in `source` too. May say no where one map is written in
  // two ways; never says yes wrongly.
  bool Holds(FamilyInstance source, FamilyInstance destination);

 private:
  // The part of a place that lies in one instance of its family: a box of a super-tensor.
  struct Region {
    uint32_t super = 0;
    int64_t base_bytes = 0;  // of the element at every dim's begin
    std::vector<PlanDimRange> dims;
  };
  class Finder;
  static bool Covers(const Region& outer, const Region& inner);
  const std::vector<Region>& RegionsOf(FamilyInstance param);
  bool SameFill(const PlanFill& a, const PlanFill& b) const;

  const Plan& plan_;
  std::map<uint32_t, std::vector<std::vector<Region>>> regions_;  // by family, per instance
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_SAME_ELEMENTS_H_
