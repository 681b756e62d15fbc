// Random jobs: layouts from a seed, with what each param must hold.
#ifndef RESHARD_TESTS_PROPERTY_RANDOM_JOB_H_
#define RESHARD_TESTS_PROPERTY_RANDOM_JOB_H_

#include <cstdint>

#include "tests/property/job.h"

namespace reshard {

struct RandomJobLimits {
  uint32_t ranks_per_side = 8;
  int64_t extent = 8;  // of a tensor dim
};

// Both sides store every tensor, each by other operations, meshes and ranks; on top of that come
// partial copies, so that holders and needers overlap in part.
Job RandomJob(uint64_t seed, const RandomJobLimits& limits);

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_RANDOM_JOB_H_
