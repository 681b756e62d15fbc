// RandomMutator: changes plans anywhere, a little, as a bug of the compiler or a damaged file
// might.
#ifndef RESHARD_TESTS_MUTATION_RANDOM_MUTATOR_H_
#define RESHARD_TESTS_MUTATION_RANDOM_MUTATOR_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard::testing {

// One number of a plan, whatever its type.
struct PlanField {
  std::string column;  // "injects.begin"
  size_t row = 0;
  std::function<int64_t()> get;
  std::function<void(int64_t)> set;
};
// Every number, id, enumerator and flag of a plan; not texts and digests. Valid while no table of
// the plan changes its size.
std::vector<PlanField> FieldsOf(Plan* plan);

class RandomMutator {
 public:
  explicit RandomMutator(uint64_t seed) : random_(seed) {}

  // Changes `plan` in one to three ways and says how: fields anywhere, and changes that keep tables
  // consistent, as those get past the first checks.
  std::string Mutate(Plan* plan);

 private:
  uint64_t Below(uint64_t count) { return random_() % count; }
  std::string ChangeField(Plan* plan);
  std::string ChangeSchedule(Plan* plan);
  std::string ChangeStreams(Plan* plan);
  std::string ChangeLayout(Plan* plan);
  std::string RemoveOrRepeat(Plan* plan);

  std::mt19937_64 random_;
};

}  // namespace reshard::testing

#endif  // RESHARD_TESTS_MUTATION_RANDOM_MUTATOR_H_
