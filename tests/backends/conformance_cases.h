// The jobs that every backend has to execute right, to the last byte. What the bytes are comes from
// the oracles of tests/property, never from the compiler.
#ifndef RESHARD_TESTS_BACKENDS_CONFORMANCE_CASES_H_
#define RESHARD_TESTS_BACKENDS_CONFORMANCE_CASES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/property/job.h"

namespace reshard {

// At most as many ranks has any case of the suite.
inline constexpr uint32_t kConformanceRanks = 16;

struct ConformanceCase {
  std::string name;
  std::function<Job()> make;
};

struct ConformanceGroup {
  std::string name;  // "toy", "m2n_w4", ...
  std::vector<ConformanceCase> cases;
};

// Of the suite: ranks pass on what they neither hold nor need; ranks 1 to 3 what rank 0 hands to
// them in their domain, rank 10 what comes over the network; ranks 5 to 7 land what rank 4 copies
// from them. Handed: rank 0 hands a part to each of ranks 1 to 7, which copy from each other.
std::vector<ConformanceCase> CarriedCases();
std::vector<ConformanceCase> HandedCases();
std::vector<ConformanceCase> RelayedCases();
std::vector<ConformanceCase> LandedCases();

// Reads tests/data from the working folder. A file that is missing leaves its group empty.
std::vector<ConformanceGroup> ConformanceSuite();

}  // namespace reshard

#endif  // RESHARD_TESTS_BACKENDS_CONFORMANCE_CASES_H_
