// The cases of NCCL M2N's functional matrix (tests/data/m2n).
#ifndef RESHARD_TESTS_PROPERTY_M2N_CASES_H_
#define RESHARD_TESTS_PROPERTY_M2N_CASES_H_

#include <string>
#include <vector>

#include "tests/property/mesh_job.h"

namespace reshard {

// Empty when the file cannot be read.
std::vector<MeshCase> ReadM2nCases(const std::string& path);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_M2N_CASES_H_
